"""What a ranking needs: two backends, each with a model of its own."""

from __future__ import annotations

import low_precision_models as low_precision
import pytest


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("float.onnx", "-b", "onnxrt", "-b", "onnxrt:optimization=off", "--rank"), "two models are needed"),
        (("float.onnx", "-b", "onnxrt", "--rank"), "two backends are needed"),
    ],
)
def test_a_ranking_without_two_models_is_wrong_usage(polycmp, models, words, text):
    models(low_precision.float16, 1.0, layers=2, outlier=0)
    done = polycmp("locate", *words)
    assert (done.status, text in " ".join(done.err.split())) == (2, True), done.out + done.err
