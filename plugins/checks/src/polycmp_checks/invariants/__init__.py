"""Checks of a backend against itself: properties that hold without knowing the right answer."""
