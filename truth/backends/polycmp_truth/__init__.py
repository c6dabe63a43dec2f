"""Backends that are wrong in ways that one operator alone does not show."""
