"""Check of whether a backend returns the same bits in each run, and search for the first tensor that differs."""
