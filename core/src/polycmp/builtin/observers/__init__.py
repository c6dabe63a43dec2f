"""Observers of a run: averages, postprocessing, commands to type next."""
