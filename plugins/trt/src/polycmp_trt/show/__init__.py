"""Showing: networks and engines as text, what the parser supports, and the commands that print it."""
