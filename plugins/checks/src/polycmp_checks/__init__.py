"""Checks that need no reference, and proof that a comparison can fail."""
