"""The loader's options, from the command line's point of view: the chain they make, the description, the text."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from polycmp.errors import UsageError
from polycmp_onnx.compose import make_loader
from polycmp_onnx.describe import describe
from polycmp_onnx.plugin import LoaderOptions


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
