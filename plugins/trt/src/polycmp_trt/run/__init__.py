"""Running: CUDA, memory on both sides, feeds, execution contexts, and the runner."""
