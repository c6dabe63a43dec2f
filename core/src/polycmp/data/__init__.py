"""Input data: random numbers, scripts, shapes, and fitting a feed to a model."""
