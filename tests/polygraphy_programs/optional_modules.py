"""Silence and import what may be missing, and put a dummy in its place.

Found in: nebuly-ai/optimate nebullvm/optional_modules/tensor_rt.py
"""


class DummyClass:
    pass


try:
    import polygraphy.cuda as polygraphy
    from polygraphy.logger import G_LOGGER

    G_LOGGER.module_severity = 40
    from polygraphy.backend.onnx.loader import fold_constants
except ImportError:
    polygraphy = DummyClass
    fold_constants = DummyClass

import onnx

print(polygraphy is DummyClass, len(fold_constants(onnx.load("foldable.onnx")).graph.node))
G_LOGGER.warning("nobody reads this")
print(hasattr(polygraphy, "DeviceView"))
