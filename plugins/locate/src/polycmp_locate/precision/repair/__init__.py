"""Mending a converted model from the model it was made of, and verifying that it is mended."""
