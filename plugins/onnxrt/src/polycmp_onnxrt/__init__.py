"""polycmp-onnxrt."""
