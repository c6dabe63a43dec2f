"""ONNX for polycmp: loaders and graph tools, each with its immediate twin, and the reference evaluator as a runner.

Nothing here imports ONNX until it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp_onnx.convert import ConvertToBf16, ConvertToFp16, convert_to_bf16, convert_to_fp16
    from polycmp_onnx.external import ExternalModel
    from polycmp_onnx.extract import ExtractSubgraph, extract_subgraph
    from polycmp_onnx.fold import FoldConstants, fold_constants
    from polycmp_onnx.graphsurgeon import GsFromOnnx, gs_from_onnx
    from polycmp_onnx.inspect import model_text
    from polycmp_onnx.load import OnnxFromBytes, OnnxFromPath, OnnxLoader, onnx_from_bytes, onnx_from_path
    from polycmp_onnx.model_graph import OnnxGraph
    from polycmp_onnx.outputs import MARK_ALL, ModifyOutputs, modify_outputs
    from polycmp_onnx.runner import ReferenceRunner
    from polycmp_onnx.save import BytesFromOnnx, SaveOnnx, bytes_from_onnx, save_onnx
    from polycmp_onnx.scrub import left_as_it_is, redraw, redraw_weights, replace_texts, scrub_names, scrub_texts
    from polycmp_onnx.shapes import InferShapes, infer_shapes, value_types
    from polycmp_onnx.structure import referring_to_itself
    from polycmp_onnx.tidy import clean_up, sort_nodes
    from polycmp_onnx.upper_bound import SetUpperBound, set_upper_bound, unbounded_tensors
    from polycmp_onnx.verify import save_part, save_verified

__all__ = [
    "MARK_ALL",
    "BytesFromOnnx",
    "ConvertToBf16",
    "ConvertToFp16",
    "ExternalModel",
    "ExtractSubgraph",
    "FoldConstants",
    "GsFromOnnx",
    "InferShapes",
    "ModifyOutputs",
    "OnnxFromBytes",
    "OnnxFromPath",
    "OnnxGraph",
    "OnnxLoader",
    "ReferenceRunner",
    "SaveOnnx",
    "SetUpperBound",
    "bytes_from_onnx",
    "clean_up",
    "convert_to_bf16",
    "convert_to_fp16",
    "extract_subgraph",
    "fold_constants",
    "gs_from_onnx",
    "infer_shapes",
    "left_as_it_is",
    "model_text",
    "modify_outputs",
    "onnx_from_bytes",
    "onnx_from_path",
    "redraw",
    "redraw_weights",
    "referring_to_itself",
    "replace_texts",
    "save_onnx",
    "save_part",
    "save_verified",
    "scrub_names",
    "scrub_texts",
    "set_upper_bound",
    "sort_nodes",
    "unbounded_tensors",
    "value_types",
]

_NAMES = {
    "external": ("ExternalModel",),
    "load": ("OnnxLoader", "OnnxFromPath", "OnnxFromBytes", "onnx_from_path", "onnx_from_bytes"),
    "outputs": ("MARK_ALL", "ModifyOutputs", "modify_outputs"),
    "structure": ("referring_to_itself",),
    "shapes": ("InferShapes", "infer_shapes", "value_types"),
    "model_graph": ("OnnxGraph",),
    "tidy": ("clean_up", "sort_nodes"),
    "upper_bound": ("SetUpperBound", "set_upper_bound", "unbounded_tensors"),
    "convert": ("ConvertToFp16", "ConvertToBf16", "convert_to_fp16", "convert_to_bf16"),
    "extract": ("ExtractSubgraph", "extract_subgraph"),
    "graphsurgeon": ("GsFromOnnx", "gs_from_onnx"),
    "fold": ("FoldConstants", "fold_constants"),
    "save": ("SaveOnnx", "BytesFromOnnx", "save_onnx", "bytes_from_onnx"),
    "inspect": ("model_text",),
    "runner": ("ReferenceRunner",),
    "verify": ("save_part", "save_verified"),
    "scrub": ("redraw", "redraw_weights", "scrub_names", "scrub_texts", "replace_texts", "left_as_it_is"),
}

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these
    __getattr__, __dir__ = lazy_names(__name__, _NAMES)
