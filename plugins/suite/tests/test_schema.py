"""The schema of suite files for editors: it accepts what polycmp reads, and refuses a typo where it stands."""

from __future__ import annotations

import pytest
from editor_schemas import wrong_in
from in_process import plugins_installed

pytest.importorskip("polycmp_locate")
pytest.importorskip("polycmp_onnxrt")

REGISTRY = plugins_installed()
SUITE = """
[defaults]
backends = ["onnxrt", "onnx"]
timeout = 60
[[case]]
model = "model.onnx"
input-shapes = ["image:[1,3,32,32]"]
"""


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("input-shapes", "input-shaps", "input-shaps"),
        ("timeout = 60", "timeuot = 60", "timeuot"),
        ("timeout = 60", "timeout = 0", "$.defaults.timeout"),
        ("[[case]]", "[[cases]]", "cases"),
        ("[[case]]", "[case]", "$.case"),
        ("timeout = 60", 'expected-failure = { why = "x" }', "why"),
        ("timeout = 60", 'report = "r.html"', "report"),
        ("[defaults]", 'command = "locate"\n[defaults]', "command"),
        ('model = "model.onnx"', 'command = "locat"', "locat"),
        ('model = "model.onnx"', 'command = "locate"\nwarm-up = 3', "warm-up"),
        ('model = "model.onnx"', 'command = "locate"\nwarm_up = 3', "warm_up"),
        ('model = "model.onnx"', "[case.matrix]\natol = 3", "matrix.atol"),
        ('"onnx"]', '{ backend = "onnxrt", options = { treads = 1 } }]', "treads"),
    ],
)
def test_a_mistake_in_a_suite_is_refused_where_it_stands(before, after, said):
    assert wrong_in(SUITE, REGISTRY) == []
    changed = SUITE.replace(before, after)
    assert changed != SUITE
    assert any(said in told for told in wrong_in(changed, REGISTRY))


@pytest.mark.parametrize(
    "line",
    [
        "input_shapes = { image = [1, 3, 32, 32] }",
        'shapes = "image:[1,3,32,32]"',
        "atol = 1",
        'atol = "1e-3"',
        'atol = ["y:1e-3", "z:inf"]',
        "atol = { y = 1e-3, z = inf }",
        "allow-blind = true",
        'allow-blind = ["cache.*"]',
        'memory = "4G"',
        "memory = 4000000",
        'tags = "smoke"',
        'expected_failure = { reason = "known", until = 2027-01-31, verdict = "blind" }',
        "options = { timeout = 5 }",
        'matrix = { atol = { tight = 1e-6, loose = 1e-3 }, model = ["a.onnx", "b.onnx"] }',
    ],
)
def test_every_spelling_of_a_value_is_accepted(line):
    assert wrong_in(SUITE.replace('model = "model.onnx"', line), REGISTRY) == []
