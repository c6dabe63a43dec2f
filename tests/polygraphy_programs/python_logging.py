"""Send messages through Python's logging, as tuners of models do.

Found in: AITune, TensorRT backend
"""

import io
import logging

from polygraphy.logger import G_LOGGER

stream = io.StringIO()
logging.basicConfig(stream=stream, level=logging.DEBUG, format="%(levelname)s %(message)s")
G_LOGGER.use_python_logging_system = True
G_LOGGER.module_severity = G_LOGGER.INFO
G_LOGGER.warning("engines are old")
G_LOGGER.info("built")
print("engines are old" in stream.getvalue(), "built" in stream.getvalue())
