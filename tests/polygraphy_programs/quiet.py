"""Set the verbosity, as servers and notebooks do before they build anything.

Found in: NVIDIA/trt-samples-for-hackathon-cn, a plugin of TensorRT for a web UI, and an export of NeMo
"""

from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator
from polygraphy.logger import G_LOGGER, LogMode

G_LOGGER.module_severity = G_LOGGER.ERROR
G_LOGGER.info("this is not shown")
G_LOGGER.warning("neither is this", mode=LogMode.ONCE)
with G_LOGGER.verbosity():
    Comparator.run([OnnxrtRunner(SessionFromOnnx("identity.onnx"))])
G_LOGGER.severity = G_LOGGER.CRITICAL
G_LOGGER.error("nor this")
print("quiet", G_LOGGER.VERBOSE < G_LOGGER.INFO < G_LOGGER.WARNING)
