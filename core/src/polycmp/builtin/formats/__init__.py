"""Files of inputs and outputs for polycmp: `.json`, `.npz` and `.safetensors`."""
