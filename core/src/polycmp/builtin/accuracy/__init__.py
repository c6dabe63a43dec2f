"""Saved metrics, and judging them again."""
