"""Which layers of a model in a smaller type are worth keeping in float, measured, and the model that keeps them."""
