"""The second stage: what single operators do by themselves."""
