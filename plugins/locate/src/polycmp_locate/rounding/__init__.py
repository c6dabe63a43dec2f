"""Rounding: what one tensor holds, which error is rounding, and how operators round."""
