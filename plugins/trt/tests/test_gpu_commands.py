"""The commands on a real device: run, convert and inspect with TensorRT, as people type them."""

from __future__ import annotations

import os

import onnx
import pytest
from onnx import TensorProto, helper

from polycmp.cli.main import main
from polycmp_trt.show.parser_support import check_model, cut_out, partition_model

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def half_supported(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "half.onnx"
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="first"),
        helper.make_node("Tan", ["a"], ["t"], name="second"),
        helper.make_node("Strange", ["t"], ["b"], name="odd", domain="nobody.knows"),
        helper.make_node("Exp", ["b"], ["y"], name="last"),
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xatby"]
    graph = helper.make_graph(nodes, "net", values[:1], values[-1:], value_info=values[1:-1])
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("nobody.knows", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return str(path)


class TestCapability:
    def test_a_whole_model(self, convolutions, tmp_path, capsys):
        assert check_model(convolutions).supported
        assert partition_model(convolutions, "unused").supported
        assert main(["inspect", "capability", convolutions]) == 0
        assert main(["inspect", "capability", convolutions, "-o", str(tmp_path / "whole")]) == 0
        assert (tmp_path / "whole" / "results.txt").is_file()
        assert "parses the whole model" in capsys.readouterr().out

    def test_what_is_wrong_and_where(self, half_supported, tmp_path, capsys):
        assert main(["inspect", "capability", half_supported, "-o", str(tmp_path)]) == 0
        assert "Strange" in capsys.readouterr().out
        assert "Strange" in (tmp_path / "results.txt").read_text("utf-8")

    def test_parts(self, half_supported, tmp_path, capsys):
        arguments = ["inspect", "capability", half_supported, "--with-partitioning", "-o", str(tmp_path)]
        assert main(arguments) == 0
        names = sorted(item.name for item in tmp_path.iterdir())
        assert names == [
            "results.txt",
            "supported_subgraph-nodes-0-1.onnx",
            "supported_subgraph-nodes-3-3.onnx",
            "unsupported_subgraph-nodes-2-2.onnx",
        ]
        assert "Strange" in capsys.readouterr().out
        assert check_model(str(tmp_path / "supported_subgraph-nodes-0-1.onnx")).supported

    def test_a_part_has_its_own_inputs_and_outputs(self, half_supported):
        part = cut_out(onnx.load(half_supported), [2])
        assert [value.name for value in part.graph.input] == ["t"]
        assert [value.name for value in part.graph.output] == ["b"]


class TestCommandLine:
    """The command lines that people bring along, on a convolution."""

    @pytest.mark.parametrize(
        "words",
        [
            "-b trt -b onnxrt",
            "--trt --onnxrt",
            "--trt --fp16 --onnxrt --atol 0.05 --rtol 0.05",
            "-b trt:fp16 -b trt -b onnxrt --atol 0.05 --rtol 0.05",
            "--trt --tf32 --onnxrt --atol 0.05 --rtol 0.05",
            "--trt --fp32 --onnxrt",
            "--trt --onnxrt --workspace 1G",
            "--trt --onnxrt --pool-limit workspace:4G dla_local_dram:1G",
            "--trt --onnxrt --tactic-sources edge_mask_convolutions jit_convolutions",
            "--trt --onnxrt --precision-constraints prefer --builder-optimization-level 1",
            "--trt --onnxrt --trt-outputs * --trt-exclude-outputs c0 --onnx-outputs r0 y",
            "--trt --onnxrt --sparse-weights --refittable --max-aux-streams 2",
        ],
    )
    def test_runs_pass(self, convolutions, words, capsys):
        status = main(["run", convolutions, *words.split()])
        shown = capsys.readouterr()
        assert status == 0, shown.out + shown.err

    def test_int8_and_its_cache(self, convolutions, tmp_path, capsys):
        cache = tmp_path / "calib.cache"
        words = [
            "run",
            convolutions,
            "--trt",
            "--onnxrt",
            "--int8",
            "--calibration-cache",
            str(cache),
            "--atol",
            "1",
            "--rtol",
            "1",
            "--allow-blind",  # eight bits of a model with random weights differ by anything
        ]
        assert main(words) == 0, capsys.readouterr().err
        assert cache.stat().st_size
        assert main(words) == 0, capsys.readouterr().err

    def test_profiles_from_shapes(self, dynamic, capsys):
        shapes = [f"--trt-{kind}-shapes=x:[{batch},64,32,32]" for kind, batch in (("min", 1), ("opt", 4), ("max", 8))]
        words = ["run", dynamic, "--trt", "--onnxrt", *shapes, "--input-shapes", "x:[2,64,32,32]"]
        assert main(words) == 0, capsys.readouterr().err

    def test_caches_and_replays(self, convolutions, tmp_path, capsys):
        timing, tactics = str(tmp_path / "timing"), str(tmp_path / "tactics.json")
        for extra in (["--timing-cache", timing], ["--save-tactics", tactics], ["--load-tactics", tactics]):
            assert main(["run", convolutions, "--trt", "--onnxrt", *extra]) == 0, capsys.readouterr().err
        assert os.path.getsize(timing) > 100
        assert main(["inspect", "tactics", tactics]) == 0

    @pytest.mark.parametrize(
        ("words", "status"),
        [
            ("--trt --onnxrt --trt-min-shapes z:[1]", 3),
            ("--trt --onnxrt --strongly-typed", 3),
            ("--trt --onnxrt --bf16", 3),
            ("--trt --onnxrt --tactic-sources cublass", 3),
            ("--trt --onnxrt --weight-streaming-budget 200%", 2),
            ("--trt --onnxrt --optimization-profile 7", 3),
        ],
    )
    def test_mistakes_have_their_exit_status(self, convolutions, words, status, capsys):
        assert main(["run", convolutions, *words.split()]) == status, capsys.readouterr().err
        assert "Traceback" not in capsys.readouterr().err


class TestConvertAndInspect:
    def test_int8_with_a_script_and_then_from_the_cache(self, convolutions, tmp_path, capsys):
        script = tmp_path / "data_loader.py"
        script.write_text(
            "import numpy as np\n"
            "def load_data():\n"
            "    for _ in range(5):\n"
            "        yield {'x': np.ones((2, 64, 32, 32), np.float32)}\n"
        )
        cache, engine = tmp_path / "calib.cache", tmp_path / "conv.engine"
        words = ["convert", convolutions, "--int8", "--calibration-cache", str(cache), "-o", str(engine)]
        assert main([*words, "--data-loader-script", str(script)]) == 0, capsys.readouterr().err
        first, size = cache.read_bytes(), engine.stat().st_size
        assert size
        script.unlink()
        assert main(words) == 0, capsys.readouterr().err
        assert cache.read_bytes() == first
        assert main(["run", str(engine), "--trt"]) == 0, capsys.readouterr().err

    def test_the_same_tactics_give_the_same_file(self, convolutions, tmp_path, capsys):
        replay, engines = str(tmp_path / "replay.json"), [tmp_path / "0.engine", tmp_path / "1.engine"]
        assert main(["convert", convolutions, "--save-tactics", replay, "-o", str(engines[0])]) == 0, (
            capsys.readouterr().err
        )
        assert main(["convert", convolutions, "--load-tactics", replay, "-o", str(engines[1])]) == 0, (
            capsys.readouterr().err
        )
        assert engines[0].read_bytes() == engines[1].read_bytes()

    def test_three_profiles(self, dynamic, tmp_path, capsys):
        engine = str(tmp_path / "dynamic.engine")
        words = []
        for batches in ((1, 1, 1), (1, 4, 32), (128, 128, 128)):
            for kind, batch in zip(("min", "opt", "max"), batches, strict=True):
                words += [f"--trt-{kind}-shapes", f"x:[{batch},64,32,32]"]
        assert main(["convert", dynamic, "-o", engine, *words]) == 0, capsys.readouterr().err
        capsys.readouterr()
        assert main(["inspect", "model", engine]) == 0
        shown = capsys.readouterr().out
        assert "3 Optimization profiles" in shown
        assert "[128,64,32,32]" in shown.replace(" ", "")
        words = ["run", engine, "--trt", "--optimization-profile", "1", "--input-shapes", "x:[16,64,32,32]"]
        assert main(words) == 0, capsys.readouterr().err

    def test_networks_of_models_and_scripts(self, convolutions, tmp_path, capsys):
        assert main(["inspect", "model", convolutions, "--display-as", "trt", "--show", "layers"]) == 0
        assert "CONVOLUTION" in capsys.readouterr().out
        script = tmp_path / "example.py"
        script.write_text(
            "from polycmp import func\n"
            "from polycmp_trt import NetworkFromOnnxPath\n"
            f"@func.extend(NetworkFromOnnxPath({convolutions!r}))\n"
            "def mine(builder, network, parser):\n"
            "    network.name = 'MyNet'\n"
        )
        words = ["--trt-network-func", "mine"]
        show = ["--show", "layers", "attrs", "weights"]
        assert main(["inspect", "model", str(script), *words, *show]) == 0, capsys.readouterr().err
        assert "MyNet" in capsys.readouterr().out
        assert main(["run", str(script), "--trt", *words]) == 0, capsys.readouterr().err
        viewed = tmp_path / "view.onnx"
        assert main(["convert", convolutions, "--convert-to", "onnx-like-trt-network", "-o", str(viewed)]) == 0
        assert viewed.stat().st_size
