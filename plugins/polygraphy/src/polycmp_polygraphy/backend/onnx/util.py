"""Facts about ONNX models under the names of `polygraphy.backend.onnx.util`."""

from __future__ import annotations

from typing import Any

from polycmp_onnx import model_text, modify_outputs, unbounded_tensors
from polycmp_onnx.graph import computed_tensors, element_type, nodes_within, shape_of, tensor_metadata
from polycmp_onnx.graph import graph_inputs as _graph_inputs
from polycmp_onnx.load import given_model
from polycmp_polygraphy.common.struct import TensorMetadata


def all_tensor_names(model: Any, include_inputs: bool | None = None) -> list[str]:
    """Return the names of the tensors that a model computes, and of its inputs if asked for."""
    inputs = [item.name for item in model.graph.input] if include_inputs else []
    return list(dict.fromkeys([*computed_tensors(model.graph, constants=False), *inputs]))


def get_unbounded_dds_tensors(graph: Any) -> list[Any]:
    """Return the tensors of a graph of GraphSurgeon whose content decides the size of others without an upper bound."""
    tensors = graph.tensors()
    return [tensors[name] for name in unbounded_tensors(given_model(graph))]


def get_num_nodes(model: Any) -> int:
    """Count the operators of a model, those of its subgraphs included."""
    return sum(1 for _ in nodes_within(model.graph))


def get_input_metadata(graph: Any) -> TensorMetadata:
    """Return names, types and shapes of a graph's inputs, weights left out."""
    return TensorMetadata(tensor_metadata(_graph_inputs(graph)))


def get_output_metadata(graph: Any) -> TensorMetadata:
    """Return names, types and shapes of a graph's outputs."""
    return TensorMetadata(tensor_metadata(graph.output))


def get_tensor_metadata(tensors: Any) -> TensorMetadata:
    """Return names, types and shapes of declared tensors."""
    return TensorMetadata(tensor_metadata(tensors))


def get_shape(tensor: Any) -> list[int | str] | None:
    """Return the shape that a tensor is declared with, or that a weight has."""
    return list(tensor.dims) if hasattr(tensor, "dims") else shape_of(tensor)


def get_dtype(tensor: Any) -> Any:
    """Return the element type that a tensor is declared with, or that a weight has."""
    from onnx import helper

    return helper.tensor_dtype_to_np_dtype(tensor.data_type) if hasattr(tensor, "dims") else element_type(tensor)


def get_values(tensor: Any) -> Any:
    """Return the numbers of a weight."""
    from onnx import numpy_helper

    return numpy_helper.to_array(tensor)


def mark_outputs(model: Any, outputs: Any) -> Any:
    """Return a copy of a model with other outputs."""
    return modify_outputs(model, outputs=list(outputs))


def mark_layerwise(model: Any) -> Any:
    """Return a copy of a model with every tensor among its outputs."""
    return modify_outputs(model, outputs=["*"])


def unmark_outputs(model: Any, outputs: Any) -> Any:
    """Return a copy of a model without some of its outputs."""
    return modify_outputs(model, exclude_outputs=list(outputs))


def str_from_onnx(
    model: Any, show_layers: bool | None = None, show_attrs: bool | None = None, show_weights: bool | None = None
) -> str:
    """Return a model as text: inputs, outputs and numbers of weights and operators, and what else is asked for."""
    graph = model.graph
    inputs, outputs = get_input_metadata(graph), get_output_metadata(graph)
    opset = next((item.version for item in model.opset_import if item.domain in ("", "ai.onnx")), None)
    text = (
        f"Name: {graph.name} | ONNX Opset: {opset}\n\n"
        f"---- {len(inputs)} Graph Input(s) ----\n{inputs}\n\n"
        f"---- {len(outputs)} Graph Output(s) ----\n{outputs}\n\n"
        f"---- {len(graph.initializer)} Initializer(s) ----\n\n"
        f"---- {len(graph.node)} Node(s) ----"
    )
    wanted = {"layers": show_layers, "attrs": show_attrs, "weights": show_weights}
    parts = [part for part, asked in wanted.items() if asked]
    return f"{text}\n\n{model_text(model, parts)}" if parts else text
