"""A folder of OpenVINO GenAI, whose model keeps the cache as its state: make test-generate."""

from __future__ import annotations

import numpy as np
import pytest

openvino = pytest.importorskip("openvino")

WORDS = "--prompts prompts.txt --steps 24"


@pytest.fixture(scope="module")
def folder(decoders, tmp_path_factory):
    """The decoder `float`, with its cache made state as OpenVINO's exporters do."""
    from openvino import opset13 as ops
    from openvino._offline_transformations import apply_make_stateful_transformation

    made = tmp_path_factory.mktemp("openvino")
    model = openvino.convert_model(str(decoders / "float.onnx"))
    tokens = model.input("input_ids")
    order = ops.parameter([-1], np.int32, name="beam_idx")
    order.output(0).get_tensor().set_names({"beam_idx"})
    names = {}
    for item in list(model.inputs):
        name = item.get_any_name()
        if name.startswith("past"):
            users = item.get_target_inputs()
            ordered = ops.gather(item, order, ops.constant(0, dtype=np.int64))
            for user in users:
                user.replace_source_output(ordered.output(0))
            names[name] = name.replace("past_key_values", "present")
    model.add_parameters([order])
    model.validate_nodes_and_infer_types()
    apply_make_stateful_transformation(model, names)
    first = ops.constant([0], dtype=np.int64)
    rows = ops.gather(ops.shape_of(tokens, output_type="i64"), first, ops.constant(0, dtype=np.int64))
    shape = ops.concat([rows, ops.constant(np.array([2, 0, 8], np.int64))], 0)
    for node in model.get_ops():
        if node.get_type_name() == "ReadValue":
            node.set_arguments([ops.broadcast(ops.constant(0.0, dtype=np.float32), shape)])
    model.validate_nodes_and_infer_types()
    openvino.save_model(model, made / "openvino_model.xml", compress_to_fp16=False)
    return made


@pytest.mark.parametrize("more", ["", "--batch 3"])
def test_the_state_is_the_cache(decoders, folder, generate, more):
    said = generate(f"float.onnx -b openvino_genai:model={folder},name=new -b onnxrt {WORDS} {more}", decoders)
    assert said.status == 0
    assert "the same top token at all 288 places" in said.out
    assert said.document["kl"]["high"] < 1e-9


def test_its_own_precision_is_told_and_not_accused(decoders, folder, generate):
    said = generate(f"float.onnx -b openvino_genai:model={folder},own_precision -b onnxrt {WORDS}", decoders)
    assert said.status == 0
    assert 0 < said.document["kl"]["high"] < 0.01


def test_four_bits_are_worse_than_the_folder(decoders, folder, generate):
    said = generate(f"int4.onnx -b onnxrt -b openvino_genai:model={folder} {WORDS}", decoders)
    assert said.status == 1
