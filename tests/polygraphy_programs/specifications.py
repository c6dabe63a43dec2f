"""Write the inputs and outputs of a model down for a server, and build its command line by the version.

Found in: triton-inference-server/model_navigator model_navigator/converter/polygraphy, and
huggingbench/huggingbench hugging_bench
"""

from pathlib import Path

import numpy as np
import onnx
import polygraphy
from polygraphy.backend.onnx.loader import OnnxFromPath
from polygraphy.backend.onnx.util import get_input_metadata, get_output_metadata

version = tuple(int(part) for part in polygraphy.__version__.split(".")[:3])
separator = ":" if version > (0, 24, 2) else ","
model: onnx.ModelProto = OnnxFromPath(Path("dynamic.onnx").as_posix())()
for metadata in (get_input_metadata(model.graph), get_output_metadata(model.graph)):
    for name, meta in metadata.items():
        shape = [size if isinstance(size, int) and size >= 0 else -1 for size in meta.shape]
        print(name, np.dtype(str(meta.dtype).rpartition(".")[2].lower()).name, shape, f"{name}{separator}{shape}")
