"""The LSTM that ONNX Runtime's quantiser writes agrees with ONNX Runtime."""

from __future__ import annotations

import numpy as np
from microsoft_cases import judged
from operator_cases import Draw

DRAW = Draw()
floats = DRAW.floats


def codes(*shape):
    """Return 7 bits, so that no processor adds two products in 16 bits."""
    return DRAW.codes(np.int8, *shape) // 2


CASES = [
    *(("DynamicQuantizeLSTM",
       [floats(4, 2, 8), codes(ways, 8, 20), codes(ways, 5, 20), floats(ways, 40), None, None, None,
        None, *[np.full(ways, 0.01, np.float32), np.full(ways, 25, np.int8)] * 2],
       {"hidden_size": 5, "direction": direction})
      for ways, direction in ((1, "forward"), (1, "reverse"), (2, "bidirectional"))),
]  # fmt: skip

test_an_operator_of_onnx_runtime_agrees_with_it = judged(CASES)
