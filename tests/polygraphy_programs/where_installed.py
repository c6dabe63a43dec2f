"""Do without what is not installed.

Found in: a plugin of TensorRT for a web UI, and MONAI monai/networks/trt_compiler.py
"""

try:
    import tensorrt
except ImportError:
    tensorrt = object

try:
    import polygraphy.cuda as polygraphy
    from polygraphy.backend.onnx.loader import fold_constants
except ImportError:
    polygraphy = object
    fold_constants = object

print(tensorrt is object, polygraphy is object, callable(fold_constants))
print(all(hasattr(polygraphy, name) for name in ("Stream", "DeviceArray", "DeviceView")))
