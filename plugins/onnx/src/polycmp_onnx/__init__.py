"""polycmp-onnx."""
