"""Running cases: the queue, processes of this machine, and what became of each."""
