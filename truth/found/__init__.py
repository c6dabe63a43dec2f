"""Faults of others that polycmp found: each with a model, five lines of Python, and the right answer."""
