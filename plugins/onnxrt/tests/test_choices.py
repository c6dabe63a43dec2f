"""Providers and levels of optimisation as they are typed."""

from __future__ import annotations

import onnxruntime
import pytest
from onnxrt_models import double

from polycmp.errors import UsageError
from polycmp_onnxrt import SessionFromOnnx, session_from_onnx
from polycmp_onnxrt.choices import parse_provider
from polycmp_onnxrt.plugin import Options


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("cpu", "cpu", {}),
        ("CUDA[device_id=1]", "CUDA", {"device_id": "1"}),
        ("cuda[a=1;b=x=y]", "cuda", {"a": "1", "b": "x=y"}),
        ("cuda[a=1, b=2]", "cuda", {"a": "1", "b": "2"}),
        ("SomebodysExecutionProvider", "SomebodysExecutionProvider", {}),
    ],
)
def test_providers_as_typed(text, name, options):
    assert parse_provider(text) == (name, options)


@pytest.mark.parametrize(
    "wrong",
    [
        {"providers": ("cud4",)},
        {"providers": ("cuda[device_id]",)},
        {"providers": ("cuda[device_id=1",)},
        {"providers": ()},
        {"optimization": "most"},
        {"threads": 0},
        {"inter_threads": -1},
        {"config": {"": "1"}},
    ],
    ids=str,
)
def test_ill_formed_options_are_refused_before_anything_starts(wrong):
    with pytest.raises(ValueError, match=r".{10}"):
        Options(**wrong)


@pytest.mark.parametrize("level", ["all", "ALL", "ORT_ENABLE_ALL", onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL])
def test_levels_of_optimization(level):
    assert Options(optimization=level).optimization == "all"


def test_a_level_by_onnxruntimes_name_and_position():
    session = session_from_onnx(double(), ["cpu"], onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC)
    assert session.get_session_options().graph_optimization_level.name == "ORT_ENABLE_BASIC"
    with pytest.raises(UsageError, match="sideways"):
        SessionFromOnnx(double(), graph_optimization_level="sideways")
