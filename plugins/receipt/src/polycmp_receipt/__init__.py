"""Receipts: what was compared, with digests of all that it depends on, so that others can check it."""
