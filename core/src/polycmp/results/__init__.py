"""Results in memory, files of inputs and outputs in the formats of plugins, and the outcome of a run."""
