"""Types of layers: which layers to keep in float, and mending a converted model from its source."""
