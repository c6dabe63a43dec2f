"""Finding the first tensor inside a model that goes wrong, and saying in words what kind of wrong it is."""
