"""Binary files of inputs and outputs for polycmp: `.npz` and `.safetensors`."""
