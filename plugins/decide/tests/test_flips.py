"""`--flips`: inputs near ties of decisions whose places are known."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.results.files import open_inputs

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.fixture
def polycmp(with_report):
    """Return a function that runs a command, with words as a shell takes them."""
    return lambda words: with_report(words).joined()


def save(path, tie, outputs=("scores",)):
    """Save a model of one number x and a whole number k with scores [x, tie]: the first is larger above the tie."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes = [
        helper.make_node("Cast", ["k"], ["zero"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["zero", "nothing"], ["none"]),
        helper.make_node("Add", ["x", "none"], ["first"]),
        helper.make_node("Concat", ["first", "second"], ["scores"], axis=1),
        helper.make_node("Sub", ["x", "second"], ["above"]),
    ]
    constants = {"second": np.array([[tie]], np.float32), "nothing": np.zeros((1, 1), np.float32)}
    graph = helper.make_graph(
        nodes, "tie",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1]),
            helper.make_tensor_value_info("k", TensorProto.INT64, [1, 1]),
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, None]) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


@pytest.fixture
def inputs(tmp_path):
    """Eleven inputs from 0 to 1, whose range is 1."""
    x = np.linspace(0, 1, 11, dtype=np.float32)
    np.savez(tmp_path / "in.npz", x=x[:1, None], k=np.full((1, 1), 7))
    folder = tmp_path / "in"
    folder.mkdir()
    for number, value in enumerate(x):
        np.savez(folder / f"{number:02}.npz", x=[[value]], k=np.full((1, 1), 7))
    return " ".join(f"in/{number:02}.npz" for number in range(11))


WORDS = "--atol 1 --rtol 1 --allow-blind"


def test_ties_and_agreement_are_those_that_are_known(polycmp, inputs, tmp_path):
    """The ties lie at 0.52 and 0.5201: of inputs within 0.001 of the first, a twentieth lies between them."""
    save(tmp_path / "old.onnx", 0.52)
    save(tmp_path / "new.onnx", 0.5201)
    done = polycmp(
        f"run old.onnx -b onnxrt:model=new.onnx,name=new -b onnxrt --load-inputs {inputs} --flips 400 {WORDS} "
        "--save-inputs near.npz"
    )
    assert done.status == 0, done.out + done.err
    [found] = done.document["flips"].values()
    assert found["inputs"] == 400
    assert found["apart"] == pytest.approx([1e-4] * 80, rel=1e-2)
    assert found["smallest_change"] == pytest.approx(0.02, abs=1e-5)  # from 0.5 up to 0.52
    assert 8 <= found["differing"] <= 34  # 20 ± 3 deviations
    assert "of 400 inputs within 0.001 of a tie, new decides " in done.out
    assert "the smallest change of a given input that makes them disagree: 0.02" in done.out
    feeds = list(open_inputs([tmp_path / "near.npz"]))
    made = np.array([feed["x"].item() for feed in feeds], np.float32)
    assert {feed["k"].item() for feed in feeds} == {7}
    assert len(made) == 400
    assert np.abs(made - 0.52).max() <= 0.00101
    assert np.ptp(made) > 0.0015
    assert found["differing"] == int(((made >= np.float32(0.52)) & (made < np.float32(0.5201))).sum())


def test_ties_are_those_of_the_reference_whose_backend_is_named(polycmp, inputs, tmp_path):
    save(tmp_path / "old.onnx", 0.52)
    save(tmp_path / "new.onnx", 0.5201)
    words = f"--reference onnxrt --load-inputs {inputs} --flips 20 {WORDS}"
    done = polycmp(f"run old.onnx -b onnxrt:name=old -b onnx:model=new.onnx,name=new {words}")
    [[label, ties]] = done.document["flips"].items()
    assert label == "new"
    assert ties["apart"] == pytest.approx([1e-4] * 4, rel=1e-2)


def test_equal_sides_agree_up_to_the_tie(polycmp, inputs, tmp_path):
    save(tmp_path / "old.onnx", 0.52)
    done = polycmp(f"run old.onnx -b onnxrt -b onnx --load-inputs {inputs} --flips 50 --flip-within 1e-6 {WORDS}")
    assert done.status == 0, done.out + done.err
    [found] = done.document["flips"].values()
    assert found["differing"] == 0
    assert max(found["apart"]) == 0
    assert found["smallest_change"] is None
    assert "makes them disagree: none was found" in done.out


def test_a_threshold_decides(polycmp, inputs, tmp_path):
    save(tmp_path / "old.onnx", 0.25, ("above",))
    save(tmp_path / "new.onnx", 0.25 - 2e-5, ("above",))
    words = f"run new.onnx old.onnx -b onnxrt --load-inputs {inputs} --flips 20 --flip-threshold 0.5 {WORDS}"
    [found] = polycmp(words).document["flips"].values()  # above 0.75, or a little less
    assert found["apart"] == pytest.approx([2e-5] * 4, rel=1e-2)
    assert found["smallest_change"] == pytest.approx(0.05 - 2e-5, abs=1e-5)


def test_one_given_input_is_enough(polycmp, inputs, tmp_path):
    """Random directions are tried within the range of the input, which is a vector here."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    for name, factor in (("old", 1.0), ("new", 1.001)):
        moved = weights * np.array([1, 1, factor], np.float32)
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["scores"])], "linear",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])],
            [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 3])],
            [numpy_helper.from_array(moved, "w")],
        )  # fmt: skip
        onnx.save(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
            f"{tmp_path}/{name}.onnx",
        )
    done = polycmp(f"run new.onnx old.onnx -b onnxrt --flips 30 {WORDS} --save-inputs near.npz")
    assert done.status == 0, done.out + done.err
    scores = np.concatenate([feed["x"] for feed in open_inputs([tmp_path / "near.npz"])]) @ weights
    best = np.sort(scores, -1)
    assert len(scores) == 30
    assert (best[:, -1] - best[:, -2]).max() < 0.05  # what 0.001 of the range moves at most
    again = polycmp(f"run new.onnx old.onnx -b onnxrt --load-inputs near.npz {WORDS}")
    assert again.status == 0


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ("-b onnxrt", 2, "needs two backends"),
        ("-b onnxrt -b onnx --sequential-runners", 2, "exclude each other"),
        ("-b onnxrt -b onnx --flip-output none", 2, "no output 'none'"),
        ("-b onnxrt -b onnx --flip-within 0", 2, "flip-within"),
        ("-b onnxrt -b onnx --flip-threshold 100", 3, "decides alike on all given inputs"),
        ("-b onnxrt:model=two.onnx -b onnxrt:model=two.onnx", 2, "which output decides?"),
    ],
)
def test_what_cannot_be_walked_is_told(polycmp, inputs, tmp_path, words, status, says):
    save(tmp_path / "m.onnx", 0.52)
    save(tmp_path / "two.onnx", 0.52, ("scores", "above"))
    done = polycmp(f"run m.onnx {words} --load-inputs {inputs} --flips 10 {WORDS}")
    assert done.status == status, done.out + done.err
    assert says in done.err
    assert "Traceback" not in done.err


def test_options_without_a_number_are_told(polycmp, inputs, tmp_path):
    save(tmp_path / "m.onnx", 0.52)
    done = polycmp(f"run m.onnx -b onnxrt -b onnx --load-inputs {inputs} --flip-within 0.1")
    assert done.status == 2
    assert "need --flips" in done.err


def test_tensors_inside_decide_nothing(polycmp, inputs, tmp_path):
    save(tmp_path / "m.onnx", 0.52)
    done = polycmp(f"run m.onnx -b onnxrt -b onnx --load-inputs {inputs} --flips 10 --mark-all {WORDS}")
    assert done.status == 0, done.out + done.err
    assert "of 10 inputs within 0.001 of a tie, onnxrt decides 0 % otherwise than onnx" in done.out


def test_labels_belong_to_other_inputs(polycmp, inputs, tmp_path):
    save(tmp_path / "m.onnx", 0.52)
    (tmp_path / "labels.csv").write_text("label\n" + "1\n" * 11)
    done = polycmp(f"decide m.onnx -b onnxrt -b onnx --load-inputs {inputs} --labels labels.csv --flips 10")
    assert done.status == 2
    assert "labels belong to the inputs as they are" in done.err


def test_locate_takes_the_same_inputs(polycmp, inputs, tmp_path):
    pytest.importorskip("polycmp_locate")
    save(tmp_path / "old.onnx", 0.52)
    save(tmp_path / "new.onnx", 0.5201)
    done = polycmp(f"locate new.onnx old.onnx -b onnxrt --load-inputs {inputs} --flips 5")
    assert done.status in {0, 1, 3}
    assert "Traceback" not in done.err
