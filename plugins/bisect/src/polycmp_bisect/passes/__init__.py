"""Search over the optimisations that a backend can leave out: which of them a fault hangs on."""
