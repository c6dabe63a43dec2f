"""The commands over ONNX models: what they take, and what they do with the modules beside this package."""
