"""The folder that PYTHONPATH names in the recorded program."""
