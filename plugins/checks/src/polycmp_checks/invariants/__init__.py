"""Checks of a backend against itself: what must hold whatever the right answer is."""
