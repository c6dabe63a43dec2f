"""Causes of a difference: one file each, with when it is asked for, its trial and its sentence; `rules` lists them."""
