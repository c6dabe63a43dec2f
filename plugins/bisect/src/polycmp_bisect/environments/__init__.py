"""Environments with one release each: which there are, how they are made, and the cache that keeps them."""
