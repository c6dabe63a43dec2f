"""Ranking of a model's layers in a smaller type by their measured gain in float, and the model that keeps the best."""
