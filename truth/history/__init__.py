"""Public issues of runtimes and tools as small models, replayed on the releases that had and that mended them."""
