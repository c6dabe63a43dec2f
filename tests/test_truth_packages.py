"""What `truth.packages` reads of commands, and how it grades them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from truth.packages.commands import Said, graded, graded_together, sentence_of
from truth.packages.facts import inside


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("run", "MODEL", "-b", "onnxrt", "-b", "onnx"), "PASSED: "),
        (("run", "MODEL", "-b", "onnxrt", "-b", "onnxrt:name=b,model=OTHER"), "FAILED: "),
        (("run", "MODEL", "-b", "onnxrt:providers=cann", "-b", "onnx"), "ERROR: "),
        (("locate", "MODEL", "-b", "onnxrt", "-b", "onnx"), "NO FAULT: "),
        (("locate", "MODEL", "-b", "onnxrt", "-b", "onnxrt:name=b,model=OTHER"), "FOUND: "),
        (("invariants", "MODEL", "-b", "onnxrt:providers=cann"), "ERROR: "),
        (("run", "MODEL", "-b", "nobody"), "polycmp: "),
    ],
)
def test_the_sentence_of_a_command_is_read_whatever_its_verdict(words, sentence, polycmp, model, other):
    files = {"MODEL": model, "OTHER": other}
    said = polycmp(*(str(files.get(word, word)).replace("OTHER", str(other)) for word in words))
    assert sentence_of(f"{said.out}{said.err}").startswith(sentence), said.out + said.err


@pytest.mark.parametrize(
    ("status", "sentence", "truth", "grade"),
    [
        (0, "NO FAULT: within rounding", {"noise": 0.05, "defect": ""}, "right"),
        (1, "FOUND: wrong: Conv 'c'", {"noise": 0.05, "defect": ""}, "wrong"),
        (1, "FOUND: wrong: DequantizeLinear 'd'", {"noise": 0.05, "defect": "s covers a mask"}, "right"),
        (3, "UNDECIDED: none of 42 tensors", {"noise": 1.4, "defect": ""}, "right"),
        (0, "NO FAULT: within rounding", {"noise": 1.4, "defect": ""}, "open"),
        (1, "FOUND: wrong: Conv 'c'", {"noise": float("nan"), "defect": ""}, "open"),
    ],
)
def test_a_file_that_a_quantiser_wrote_is_not_to_be_accused_unless_it_ruined_it(status, sentence, truth, grade):
    found = {"worst": 0.1, "beyond": 3, "missing": 0, **truth}
    said = Said("m", "locate int8 static", ("locate",), status, sentence, found)
    assert graded(said, sentence).grade == grade


@pytest.mark.parametrize(
    ("status", "beyond", "clearly", "grade"),
    [(0, 0, 0, "right"), (1, 4, 0, "right"), (0, 4, 0, "right"), (0, 4, 1, "open"), (1, 0, 0, "wrong")],
)
def test_tensors_inside_are_graded_by_two_runtimes_alone(status, beyond, clearly, grade):
    found = {"tensors": 9, "beyond": beyond, "clearly": clearly}
    assert graded(Said("m", "run --mark-all", ("run",), status, "", found), "").grade == grade


@pytest.mark.parametrize(("inside", "located", "grade"), [(1, 0, "wrong"), (1, 1, "open"), (0, 0, "open")])
def test_looking_inside_may_not_fail_what_run_and_locate_pass(inside, located, grade):
    said = [
        Said("m", command, (), status, "")
        for command, status in (("run", 0), ("run --mark-all", inside), ("locate", located))
    ]
    assert graded_together(said)[1].grade == grade


@pytest.mark.parametrize(
    ("run", "located", "status", "grade"),
    [
        ("FAILED: 1 of 1", "UNDECIDED: the outputs", 3, "wrong"),
        ("FAILED: 1 of 1", "FOUND: wrong: Op", 1, "open"),
        ("UNDECIDED: 1 of 1", "NO FAULT: within rounding: none of 7 tensors", 0, "wrong"),
        ("UNDECIDED: 1 of 1", "NO FAULT: ill-conditioned model: Op loses the digits", 0, "open"),
        ("UNDECIDED: 1 of 1", "UNDECIDED: none of 7 tensors", 3, "open"),
        ("UNDECIDED: 1 of 1", "FOUND: wrong: Op", 1, "open"),
    ],
)
def test_locate_says_what_run_says_or_names_an_operator(run, located, status, grade):
    said = [Said("m", "run int8 static", (), 0, run), Said("m", "locate int8 static", (), status, located)]
    assert graded_together(said)[1].grade == grade


def test_infinities_on_both_sides_are_no_difference_inside(tmp_path):
    path, inputs = str(tmp_path / "mask.onnx"), str(tmp_path / "x.npz")
    nodes = [onnx.helper.make_node("Log", ["x"], ["y"]), onnx.helper.make_node("Exp", ["y"], ["z"])]
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xz"]
    onnx.save(
        onnx.helper.make_model(
            onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:]),
            ir_version=8,
            opset_imports=[onnx.helper.make_opsetid("", 17)],
        ),
        path,
    )
    np.savez(inputs, x=np.array([0.0, 1.0], np.float32))
    assert inside(path, inputs) == {"tensors": 2, "beyond": 0, "clearly": 0}
