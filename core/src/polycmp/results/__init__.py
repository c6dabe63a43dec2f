"""Results in memory and on disk, one module a format."""
