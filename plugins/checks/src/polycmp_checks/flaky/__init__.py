"""Whether a backend makes the same bits in each run, and where it first does not."""
