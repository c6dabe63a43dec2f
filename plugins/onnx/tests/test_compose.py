"""The loader's options, from the command line's point of view: the chain they make, the description, the text."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx
import pytest

from polycmp.errors import ModelError, UsageError
from polycmp_onnx.compose import make_loader
from polycmp_onnx.describe import describe
from polycmp_onnx.inspect import inspect
from polycmp_onnx.plugin import LoaderOptions, RunnerOptions, polycmp_loaders, polycmp_runners
from polycmp_onnx.save import save


def test_without_options_the_file_itself_is_the_model(mlp_file):
    loader = make_loader(mlp_file, LoaderOptions())
    assert loader.path == mlp_file
    assert repr(loader) == f"OnnxFromPath({mlp_file!r})"


@pytest.mark.parametrize(
    "options",
    [
        {"outputs": ("h",)},
        {"mark_all": True},
        {"outputs_by_type": ("Relu",)},
        {"exclude_outputs": ("y",), "outputs": ("*",)},
        {"shape_inference": True},
        {"fp_to_fp16": True},
        {"ignore_external_data": True},
        {"external_data_dir": "."},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_changes_the_model_has_no_path(mlp_file, options):
    loader = make_loader(mlp_file, LoaderOptions(**options))
    assert loader.path is None
    onnx.checker.check_model(loader(), full_check=True)


def test_everything_at_once_in_a_repr_that_is_source(mlp_file, tmp_path):
    options = LoaderOptions(
        outputs=("mark", "all"),
        exclude_outputs=("s*",),
        shape_inference=True,
        no_onnxruntime_shape_inference=True,
        fp_to_fp16=True,
        save=str(tmp_path / "saved.onnx"),
        save_external_data="",
        external_data_size_threshold=16,
    )
    loader = make_loader(mlp_file, options)
    assert repr(loader) == (
        f"SaveOnnx(ModifyOutputs(InferShapes(ConvertToFp16(OnnxFromPath({mlp_file!r})), allow_onnxruntime=False), "
        f"outputs='mark all', exclude_outputs=['s*']), {str(tmp_path / 'saved.onnx')!r}, "
        "external_data_path='', size_threshold=16)"
    )
    made = loader()
    saved = onnx.load(str(tmp_path / "saved.onnx"))
    assert saved.graph.node == made.graph.node
    assert saved.graph.output == made.graph.output
    weight, again = (onnx.numpy_helper.to_array(model.graph.initializer[0]) for model in (made, saved))
    assert np.array_equal(weight, again)
    assert (tmp_path / "saved.onnx.data").exists()


def test_a_loader_as_source(mlp, mlp_file):
    assert make_loader(lambda: mlp, LoaderOptions(outputs=("h",)))().graph.output[0].name == "h"
    assert [*describe(lambda: mlp, LoaderOptions(outputs=("h",))).outputs] == ["h"]


def test_options_that_make_no_sense_together(mlp_file):
    options = {"ignore_external_data": True, "external_data_dir": "."}
    for function in (make_loader, describe):
        with pytest.raises(UsageError):
            function(mlp_file, LoaderOptions(**options))


def test_the_description_agrees_with_the_model(mlp, mlp_file):
    description = describe(mlp_file, LoaderOptions())
    assert str(description.inputs) == "{x [dtype=float32, shape=('n', 8)]}"
    assert str(description.outputs) == "{y [dtype=float32, shape=('n', 4)]}"
    assert set(description.tensors) == {"x", "h", "r", "one", "s", "sf", "t", "m", "y"}
    for options in (
        LoaderOptions(mark_all=True),
        LoaderOptions(outputs=("s*",)),
        LoaderOptions(outputs_by_type=("Mul",)),
    ):
        made = make_loader(mlp_file, options)()
        outputs = describe(mlp_file, options).outputs
        assert [*outputs] == [value.name for value in made.graph.output]
        assert all(entry.dtype is not None and entry.shape is not None for entry in outputs.values())


def test_a_description_needs_no_weights_and_reports_errors(mlp, tmp_path):
    from polycmp_onnx import save_onnx

    path = tmp_path / "m.onnx"
    save_onnx(mlp, path, external_data_path="w.bin", size_threshold=1)
    (tmp_path / "w.bin").unlink()
    assert [*describe(path).inputs] == ["x"]
    with pytest.raises(ModelError):
        make_loader(path)()
    with pytest.raises(UsageError, match="'h'"):
        describe(path, LoaderOptions(outputs=("hh",)))
    with pytest.raises(ModelError):
        describe(tmp_path / "w.bin")


def test_weights_listed_as_inputs_are_no_inputs(mlp, mlp_file):
    value = mlp.graph.input.add()
    value.CopyFrom(onnx.helper.make_tensor_value_info("w", 1, [8, 4]))
    assert [*describe(lambda: mlp).inputs] == ["x"]


def test_the_hooks_describe_options_that_exist_and_names_that_load():
    (loader,), (runner,) = list(polycmp_loaders()), list(polycmp_runners())
    fields = [{field.name for field in dataclasses.fields(options)} for options in (LoaderOptions, RunnerOptions)]
    assert not fields[0] & fields[1], "both make flags --onnx-FIELD"
    for target in (loader.factory, loader.tools, runner.factory, runner.tools):
        module, _, name = target.partition(":")
        assert callable(getattr(__import__(module, fromlist=[name]), name))


def test_inspecting(mlp, mlp_file):
    brief = inspect(make_loader(mlp_file))
    assert "Name: test | Opset: ONNX 17" in brief
    assert "x: float32[n,8]" in brief
    assert "y: float32[n,4]" in brief
    assert "1 Initializer\n" in brief
    assert "8 Nodes: 1 Add, 1 Cast, 1 Constant" in brief
    assert "[MatMul]" not in brief
    layers = inspect(make_loader(mlp_file), ["layers"])
    assert "Node 0 | (no name) [Op: MatMul]\n      {x: float32[n,8], w: float32[8,4] weight} -> {h}" in layers
    assert "keepdims" not in layers
    assert "keepdims = 0" in inspect(make_loader(mlp_file), ["attrs"])
    assert "w: float32[8,4] = [0.125" in inspect(make_loader(mlp_file), ["weights"])
    with pytest.raises(UsageError, match="'layer'"):
        inspect(make_loader(mlp_file), ["layer"])


def test_inspecting_subgraphs_and_every_kind_of_attribute(make_model):
    helper = onnx.helper
    branch = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["inner"])], "b", [], [helper.make_tensor_value_info("inner", 1, None)]
    )
    nodes = [
        helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch),
        helper.make_node("Constant", [], ["k"], value=onnx.numpy_helper.from_array(np.arange(20, dtype=np.float32))),
        helper.make_node("Einsum", ["z", "k"], ["y"], equation="i,i->"),
    ]
    model = make_model(nodes, [("x", 1, [20]), ("c", onnx.TensorProto.BOOL, [])], [("y", 1, [])])
    text = inspect(lambda: model, ["layers", "attrs", "weights"])
    assert "graph b:" in text
    assert "[Op: Identity]" in text
    assert "equation = i,i->" in text
    assert "value = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, …]" in text


def test_saving_for_convert(mlp, tmp_path):
    save(lambda: mlp, str(tmp_path / "out.onnx"))
    assert onnx.load(str(tmp_path / "out.onnx")) == mlp
