"""`--tolerance auto`: how far rounding takes the outputs of a model, and judging by it."""
