"""Read the tolerance with which a conversion would have passed out of the log.

Found in: kcitlyn/edgedoctor
"""

import contextlib
import io
import re

from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, CompareFunc

LINE = re.compile(r"Minimum Required Tolerance: (\w+) error \| \[abs=([^]]+)\] OR \[rel=([^]]+)\]")

runners = [OnnxrtRunner(SessionFromOnnx(path), name=path) for path in ("conv.onnx", "conv_off.onnx")]
for stat in ("elemwise", "max", "mean", "median", "quantile"):
    log = io.StringIO()
    with contextlib.redirect_stdout(log):
        found = Comparator.compare_accuracy(
            Comparator.run(runners), compare_func=CompareFunc.simple(check_error_stat=stat)
        )
    for kind, absolute, relative in LINE.findall(log.getvalue()):
        print(
            kind,
            f"{float(absolute):.3g}",
            f"{float(relative):.3g}",
            bool(found),
            "FAILED | Output: 'y'" in log.getvalue(),
        )
