"""What these tests share: a small decoder, files that were made from it, and commands in their process."""

from __future__ import annotations

import numpy as np
import pytest
from json_commands import with_report

__all__ = ["with_report"]


pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def rounded(model, bits, block=16):
    """Return a decoder whose weights of MatMul are rounded to so many bits in blocks, as quantizers for decoders do."""
    import onnx
    from onnx import numpy_helper

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    used = {node.input[1] for node in copy.graph.node if node.op_type == "MatMul"}
    for tensor in copy.graph.initializer:
        if tensor.name not in used:
            continue
        weights = numpy_helper.to_array(tensor)
        blocks = weights.reshape(-1, block, weights.shape[1])
        low, high = blocks.min(1, keepdims=True), blocks.max(1, keepdims=True)
        step = (high - low) / (2**bits - 1)
        values = np.round((blocks - low) / step) * step + low
        tensor.CopyFrom(numpy_helper.from_array(values.reshape(weights.shape).astype(np.float32), tensor.name))
    return copy


def sure(model):
    """Return a decoder that is surer of the next token, as trained ones are."""
    import onnx
    from onnx import numpy_helper

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    last = next(node.input[1] for node in copy.graph.node if node.output[0] == "logits")
    for tensor in copy.graph.initializer:
        if tensor.name == last:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * 3, last))
    return copy


def uncached(model):
    """Return a decoder without a cache: it takes the whole text each time."""
    import onnx
    from onnx import numpy_helper

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for item in list(copy.graph.input):
        if item.name.startswith("past"):
            copy.graph.initializer.append(numpy_helper.from_array(np.zeros((1, 2, 0, 8), np.float32), item.name))
            copy.graph.input.remove(item)
    for item in list(copy.graph.output):
        if item.name != "logits":
            copy.graph.output.remove(item)
    return copy


def _bigrams(scores):
    """Return a decoder that looks at the last token alone, with these scores of the next: [token, next]."""
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        [helper.make_node("Gather", ["scores", "input_ids"], ["logits"], name="look up")],
        "bigrams",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "sequence", len(scores[0])])],
        [numpy_helper.from_array(np.asarray(scores, np.float32), "scores")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def bigrams():
    """Return what makes a decoder that looks at the last token alone."""
    return _bigrams


@pytest.fixture(scope="session")
def decoders(tmp_path_factory):
    """A folder with decoders that were made from one, and prompts."""
    import onnx
    from decoders import decoder

    made = tmp_path_factory.mktemp("decoders")
    good = sure(decoder())
    models = {
        "float": good, "int8": rounded(good, 8), "int4": rounded(good, 4), "whole": uncached(good),
        "forgets": sure(decoder(forgets={0: slice(12, 16), 1: slice(12, 16)})),
    }  # fmt: skip
    for name, model in models.items():
        onnx.save(model, made / f"{name}.onnx")
    random = np.random.default_rng(0)
    prompts = [" ".join(map(str, random.integers(0, 40, random.integers(4, 9)))) for _ in range(12)]
    (made / "prompts.txt").write_text("\n".join(prompts))
    (made / "two.txt").write_text("\n".join(prompts[:2]))
    (made / "one.txt").write_text(prompts[0])
    return made


@pytest.fixture
def generate(with_report, tmp_path):
    """Return a function that runs `polycmp generate` in a folder, with words as a shell takes them."""

    def call(words, at=tmp_path):
        said = with_report(f"generate {words}", at).joined()
        return said._replace(document=said.document.get("generate", {}))

    return call
