"""The tensors inside a model, in bounded memory."""
