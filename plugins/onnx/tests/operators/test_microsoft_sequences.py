"""The LSTM that ONNX Runtime's quantiser writes agrees with ONNX Runtime."""

from __future__ import annotations

import numpy as np
from microsoft_cases import judged
from operator_cases import Draw

DRAW = Draw()
floats, codes = DRAW.floats, DRAW.codes
CASES = [
    *(("DynamicQuantizeLSTM",
       [floats(4, 2, 8), codes(np.int8, ways, 8, 20), codes(np.int8, ways, 5, 20), floats(ways, 40), None, None, None,
        None, *[np.full(ways, 0.01, np.float32), np.full(ways, 50, np.int8)] * 2],
       {"hidden_size": 5, "direction": direction})
      for ways, direction in ((1, "forward"), (1, "reverse"), (2, "bidirectional"))),
]  # fmt: skip

test_an_operator_of_onnx_runtime_agrees_with_it = judged(CASES)
