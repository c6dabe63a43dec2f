"""The noise of a tensor, of samples that are made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.builtin.judging.floor import Side, decide_by_the_task, floor_of
from polycmp.builtin.judging.levels import Values
from polycmp.builtin.judging.measured import LOOKS
from polycmp.builtin.judging.samples import Samples
from polycmp.builtin.judging.verdict import Comparison, judge

#: What a Relu reads: most of it lies a little below 0, further than any sample moves it, and nearer than 8 times that.
READ = np.array([[-0.05, -0.06, -0.07, 1.0, 0.5, -0.08]], np.float32)
STEP = 0.08


def samples() -> Samples:
    """Return what a Relu reads and makes, moved by up to half a step."""
    random = np.random.default_rng(0)
    moved = [READ + random.uniform(-STEP / 2, STEP / 2, READ.shape).astype(np.float32) for _ in range(4)]
    tensors = [{"read": array, "cut": np.maximum(array, 0.0)} for array in (READ, *moved)]
    for tensor in tensors:  # the two that are not cut do not move at all
        tensor["cut"][0, 3:5] = READ[0, 3:5]
    return Samples(tensors[0], tensors[1], lambda *_: tensors[2:], "moved")


@pytest.mark.parametrize(("error", "word"), [(0.15, "undecided"), (1.5, "failed")])
def test_what_is_cut_off_is_as_noisy_as_what_was_cut(error, word):
    """Samples stay below 0, where a few times as much crosses it: six numbers behind a global pooling, say."""
    made = samples()
    expected, sides = Values(made.exact["cut"]), [Side({}, "uint8")] * 2
    wrong = made.exact["cut"].copy()
    wrong[0, 0] += error
    floor = floor_of("cut", expected, sides, [made, made], 1, "read")
    assert judge(Comparison(wrong, expected), floor, is_inner=True).word == word


@pytest.mark.parametrize(("name", "is_alike"), [("read", False), ("cut", True)])
def test_more_samples_only_add_to_the_noise(name, is_alike):
    made, sides = samples(), [Side({}, "uint8")] * 2
    first, all_of_them = (
        floor_of(name, Values(made.exact[name]), sides, [made, made], 1, count=count) for count in LOOKS
    )
    for few, many in zip(first.levels, all_of_them.levels, strict=True):
        assert few.at_least(many) == many
    assert (first.levels == all_of_them.levels) == is_alike


@pytest.mark.parametrize(("off", "step", "word"), [(0.5, 0.5, "passed"), (1.0, 0.5, "failed"), (0.5, 0.0, "failed")])
def test_a_number_on_a_grid_may_be_next_to_a_tie_that_no_sample_turns(off, step, word):
    """Ten codes of a classifier, multiplied out: four samples turn none of them, and a device turned one."""
    codes = np.arange(-20, 20, 4, dtype=np.float32) * 0.5
    still = Samples({"y": codes}, {"y": codes}, lambda *_: [{"y": codes}] * 3, "moved")
    wrong = codes.copy()
    wrong[3] += off
    expected, sides = Values(codes), [Side({}, "float32")] * 2
    floor = floor_of("y", expected, sides, [still, still], 1, step=step)
    assert judge(Comparison(wrong, expected), floor).word == word


def test_all_codes_a_step_off_are_no_ties():
    codes = np.arange(-200, 200, 4, dtype=np.float32) * 0.5
    still = Samples({"y": codes}, {"y": codes}, lambda *_: [{"y": codes}] * 3, "moved")
    expected, sides = Values(codes), [Side({}, "float32")] * 2
    floor = floor_of("y", expected, sides, [still, still], 1, step=0.5)
    assert judge(Comparison(codes + 0.5, expected), floor).word == "failed"


@pytest.mark.parametrize(
    ("shape", "metric"), [((2, 10), "topk_agreement"), ((10,), "cosine_similarity"), ((4, 1), "cosine_similarity")]
)
def test_the_task_decides_by_the_metric_that_suits_its_outputs(shape, metric):
    made_up, real = (decide_by_the_task(shape, is_real=is_real) for is_real in (False, True))
    assert real == f"judge what it is used for instead, such as --compare {metric}"
    assert made_up == f"{real}, on inputs of your own (--load-inputs FILE)"
