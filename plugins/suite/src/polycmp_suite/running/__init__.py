"""Running cases: the queue, processes of this machine, and the result of each."""
