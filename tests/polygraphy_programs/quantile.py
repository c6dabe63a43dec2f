"""Compare the 95th percentile of the errors.

Found in: yyq19990828/onnxtools, the comparison of an engine
"""

import numpy as np
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, CompareFunc

feed = {"x": np.linspace(-1, 1, 192, dtype=np.float32).reshape(1, 3, 8, 8)}
compare = CompareFunc.simple(check_error_stat="quantile", error_quantile=0.95, rtol=1e-3, atol=1e-3)
for other in ("conv_off.onnx", "conv_copy.onnx"):
    runners = [OnnxrtRunner(SessionFromOnnx("conv.onnx")), OnnxrtRunner(SessionFromOnnx(other))]
    run_results = Comparator.run(runners, data_loader=[feed])
    accuracy_results = Comparator.compare_accuracy(run_results, compare_func=compare)
    print(bool(accuracy_results), len(run_results))
