"""The commands to type after a run in which something failed: a failure alone, and a look further into it."""
