"""Many cases of polycmp as one: a file of models and settings, one answer, and what changed since the last time."""
