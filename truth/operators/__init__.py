"""One-operator models over attributes, optional inputs, types and sizes, made from the operators' schemas."""
