"""`polycmp record`: keep the real inputs and outputs of the models that an unmodified program runs."""
