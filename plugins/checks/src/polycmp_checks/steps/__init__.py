"""State that goes round: outputs of one step are inputs of the next."""
