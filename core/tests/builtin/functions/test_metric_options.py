"""Options of the compare functions for classes, distributions and boxes: what cannot be right is wrong usage."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("function", "option", "value"),
    [
        ("topk_agreement", "k", "0"),
        ("topk_agreement", "threshold", "1.5"),
        ("topk_agreement", "threshold", "nan"),
        ("kl_divergence", "threshold", "-1"),
        ("kl_divergence", "threshold", "nan"),
        ("kl_divergence", "threshold", "y:inf"),
        ("iou_match", "threshold", "-0.1"),
        ("iou_match", "min-iou", "2"),
    ],
)
def test_values_that_cannot_be_right_are_refused_before_anything_runs(polycmp, model, function, option, value):
    flag = f"--{function.replace('_', '-')}-{option}"
    done = polycmp("run", "m.toy", "-b", "toy", "-b", "plain", "--compare", function, f"{flag}={value}")
    assert (done.status, option in done.err) == (2, True), done.out + done.err
