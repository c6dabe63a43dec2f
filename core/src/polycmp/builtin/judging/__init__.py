"""The judge: whether rounding explains what two tensors differ by, in one place for all commands."""
