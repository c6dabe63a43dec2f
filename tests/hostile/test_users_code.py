"""A user's scripts and a plugin's data loader that lie or end the process: their failure, said by their name."""

from __future__ import annotations

from pathlib import Path

import pytest
from in_parts import a_few

pytest.importorskip("polycmp_onnx")

ENDINGS = {
    "import sys; sys.exit(0)": "SystemExit: 0",
    "raise SystemExit": "SystemExit",
    "raise GeneratorExit": "GeneratorExit",
    "raise type('PanicException', (BaseException,), {})('panicked')": "PanicException: panicked",
}
HEAD = "import numpy as np\nones = {'x': np.ones((2, 4), np.float32)}\n"


def spread(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def runs(polycmp, hostile):
    """Run the reference twice with a script of the text given; return status and what was said."""

    def run(text: str, *words: object):
        Path("script.py").write_text(HEAD + text)
        done = polycmp("run", hostile, "-b", "onnx", "-b", "onnx", *words)
        assert "fault of polycmp itself" not in done.err
        return done.status, spread(done.out + done.err)

    return run


@pytest.mark.parametrize("ending", ENDINGS)
class TestEndings:
    @pytest.mark.parametrize("pace", a_few([(), ("--sequential-runners",)]), ids=["streaming", "sequential"])
    @pytest.mark.parametrize(
        "body",
        [
            "def load_data():\n    {}\n",
            "def load_data():\n    yield ones\n    {}\n",
            "class Feeds:\n    def __iter__(self):\n        {}\nload_data = Feeds()\n",
        ],
        ids=["call", "next", "iter"],
    )
    def test_data_loader_script(self, runs, ending, body, pace):
        status, said = runs(body.format(ending), "--data-loader-script", "script.py", *pace)
        assert status == 3
        assert "script.py:load_data: fails" in said
        assert ENDINGS[ending] in said

    def test_postprocess_script(self, runs, ending):
        status, said = runs(f"def postprocess_outputs(o):\n    {ending}\n", "--postprocess-func-script", "script.py")
        assert status == 3
        assert "script.py:postprocess_outputs failed" in said
        assert ENDINGS[ending] in said

    def test_data_loader_script_of_a_check_of_invariants(self, polycmp, hostile, ending):
        Path("script.py").write_text(f"def load_data():\n    {ending}\n")
        done = polycmp("invariants", hostile, "-b", "onnx", "--data-loader-script", "script.py")
        assert done.status == 3
        assert ENDINGS[ending] in spread(done.out + done.err)


@pytest.mark.parametrize("mode", ["exit", "panic", "generator_exit", "memory"])
@pytest.mark.parametrize("stage", ["make", "call", "next"])
def test_a_plugins_data_loader(polycmp, hostile, stage, mode):
    words = ("--data-loader", "hostile_data", "--hostile-data-mode", f"{stage}-{mode}")
    done = polycmp("run", hostile, "-b", "onnx", "-b", "onnx", *words)
    assert done.status == 3
    assert "the data loader" in done.err
    assert "fault of polycmp itself" not in done.err


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        ("none", "the data loader gave NoneType instead of a feed"),
        ("list", "the data loader gave list instead of a feed"),
        ("number", "the data loader gave names that are no text"),
        ("text", "the data loader gave str instead of a feed"),
    ],
)
def test_what_is_no_feed(polycmp, hostile, mode, says):
    words = ("--data-loader", "hostile_data", "--hostile-data-mode", f"gives-{mode}")
    done = polycmp("run", hostile, "-b", "onnx", "-b", "onnx", *words)
    assert done.status == 3
    assert says in spread(done.err)


class TestOneReusedArray:
    """`x[...] = i; yield {"x": x}`: each iteration has its own data however the runs take turns."""

    SCRIPT = "def load_data():\n    x = ones['x']\n    for i in range(3):\n        x[...] = i\n        yield {'x': x}\n"

    @pytest.mark.parametrize(
        "words",
        [
            ("--data-loader-script", "script.py"),
            ("--data-loader-script", "script.py", "--sequential-runners"),
            ("--data-loader-script", "script.py", "--onnx-outputs", "*"),
            ("--data-loader", "hostile_data", "--hostile-data-mode", "reused", "--sequential-runners"),
        ],
        ids=["streaming", "sequential", "marked", "plugin"],
    )
    def test_what_is_saved_is_what_ran(self, runs, words):
        from polycmp.results.files import open_inputs, open_runs

        assert runs(self.SCRIPT, *words, "--save-inputs", "i.npz", "--save-outputs", "o.npz")[0] == 0
        assert [feed["x"][0, 0] for feed in open_inputs(["i.npz"])] == [0, 1, 2]
        for run in open_runs("o.npz"):
            assert [float(outputs["y"][0, 0]) for outputs in run.iterations] == [0, 2, 4]

    @pytest.mark.parametrize("pace", [(), ("--sequential-runners",)], ids=["streaming", "sequential"])
    def test_a_fault_of_one_iteration_shows(self, polycmp, hostile, pace):
        Path("script.py").write_text(HEAD + self.SCRIPT)
        words = ("-b", "hostile:mode=zero_is_wrong", "-b", "onnx", "--data-loader-script", "script.py")
        assert polycmp("run", hostile, *words, *pace).status == 1

    def test_windows_read_one_feed_ahead(self, polycmp, many):
        from polycmp.results.files import open_inputs

        Path("script.py").write_text(HEAD + self.SCRIPT)
        words = ("--data-loader-script", "script.py", "--save-inputs", "i.npz")
        assert polycmp("run", many, "-b", "onnx", "-b", "onnx", *words).status == 0
        assert [feed["x"][0, 0] for feed in open_inputs(["i.npz"])] == [0, 1, 2]


def test_big_endian_inputs_are_inputs(polycmp, hostile):
    from polycmp.results.files import open_inputs

    Path("script.py").write_text(
        "import numpy as np\ndef load_data():\n    return [{'x': np.arange(8).reshape(2, 4).astype('>f4')}]\n"
    )
    for target in ("i.npz", "i.json", "i.safetensors"):
        words = ("--data-loader-script", "script.py", "--save-inputs", target)
        assert polycmp("run", hostile, "-b", "hostile", "-b", "onnx", *words).status == 0
        [feed] = open_inputs([target])
        assert feed["x"].reshape(-1).tolist() == list(range(8))


class TestTopKHidesNothing:
    """The indices of the largest numbers look alike whatever they were taken from."""

    @pytest.fixture
    def classes(self, polycmp, hostile):
        import onnx
        from onnx import TensorProto, helper

        def run(one: list[int], two: list[int], *words: object, kind: int = TensorProto.FLOAT):
            for path, shape, element in (("one.onnx", one, TensorProto.FLOAT), ("two.onnx", two, kind)):
                cast = helper.make_node("Cast", ["x"], ["c"], to=element)
                shaped = helper.make_node("Expand", ["c", "shape"], ["y"])
                weight = helper.make_tensor("shape", TensorProto.INT64, [len(shape)], shape)
                values = [
                    helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1]),
                    helper.make_tensor_value_info("y", element, shape),
                ]
                graph = helper.make_graph([cast, shaped], "g", values[:1], values[1:], [weight])
                onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
            spec = ("-b", "onnx:model=one.onnx,name=one", "-b", "onnx:model=two.onnx,name=two")
            done = polycmp("run", "one.onnx", *spec, "--postprocess", "top-3", "--compare", "indices", *words)
            return done.status, spread(done.out + done.err)

        return run

    def test_another_number_of_classes(self, classes):
        status, said = classes([1, 10], [1, 1000])
        assert status == 1
        assert "shape [1,10] instead of [1,1000]" in said

    def test_another_kind_of_number(self, classes):
        from onnx import TensorProto

        status, said = classes([1, 10], [1, 10], kind=TensorProto.INT64)
        assert status == 1
        assert "float is not integer" in said

    def test_the_same(self, classes):
        assert classes([1, 10], [1, 10])[0] == 0

    def test_shapes_that_need_not_be_equal(self, classes):
        assert classes([1, 10], [1, 1000], "--no-shape-check")[0] == 0


def test_a_model_without_outputs_blames_no_option(polycmp, hostile):
    import onnx

    model = onnx.load(str(hostile))
    del model.graph.output[:]
    onnx.save(model, "none.onnx")
    done = polycmp("run", "none.onnx", "-b", "onnx", "-b", "onnx")
    assert done.status == 3
    assert "the model has no outputs" in done.err
    assert "exclude" not in done.err
