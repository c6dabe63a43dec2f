"""ONNX for polycmp: loaders and graph tools, each with its immediate twin, and the reference evaluator as a runner.

Nothing here imports ONNX until it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polycmp_onnx.convert import ConvertToBf16 as ConvertToBf16
    from polycmp_onnx.convert import ConvertToFp16 as ConvertToFp16
    from polycmp_onnx.convert import convert_to_bf16 as convert_to_bf16
    from polycmp_onnx.convert import convert_to_fp16 as convert_to_fp16
    from polycmp_onnx.external import ExternalModel as ExternalModel
    from polycmp_onnx.extract import ExtractSubgraph as ExtractSubgraph
    from polycmp_onnx.extract import extract_subgraph as extract_subgraph
    from polycmp_onnx.fold import FoldConstants as FoldConstants
    from polycmp_onnx.fold import fold_constants as fold_constants
    from polycmp_onnx.graphsurgeon import GsFromOnnx as GsFromOnnx
    from polycmp_onnx.graphsurgeon import gs_from_onnx as gs_from_onnx
    from polycmp_onnx.inspect import model_text as model_text
    from polycmp_onnx.load import OnnxFromBytes as OnnxFromBytes
    from polycmp_onnx.load import OnnxFromPath as OnnxFromPath
    from polycmp_onnx.load import OnnxLoader as OnnxLoader
    from polycmp_onnx.load import onnx_from_bytes as onnx_from_bytes
    from polycmp_onnx.load import onnx_from_path as onnx_from_path
    from polycmp_onnx.model_graph import OnnxGraph as OnnxGraph
    from polycmp_onnx.outputs import MARK_ALL as MARK_ALL
    from polycmp_onnx.outputs import ModifyOutputs as ModifyOutputs
    from polycmp_onnx.outputs import modify_outputs as modify_outputs
    from polycmp_onnx.runner import ReferenceRunner as ReferenceRunner
    from polycmp_onnx.save import BytesFromOnnx as BytesFromOnnx
    from polycmp_onnx.save import SaveOnnx as SaveOnnx
    from polycmp_onnx.save import bytes_from_onnx as bytes_from_onnx
    from polycmp_onnx.save import save_onnx as save_onnx
    from polycmp_onnx.scrub import left_as_it_is as left_as_it_is
    from polycmp_onnx.scrub import redraw as redraw
    from polycmp_onnx.scrub import redraw_weights as redraw_weights
    from polycmp_onnx.scrub import replace_texts as replace_texts
    from polycmp_onnx.scrub import scrub_names as scrub_names
    from polycmp_onnx.scrub import scrub_texts as scrub_texts
    from polycmp_onnx.shapes import InferShapes as InferShapes
    from polycmp_onnx.shapes import infer_shapes as infer_shapes
    from polycmp_onnx.shapes import value_types as value_types
    from polycmp_onnx.structure import referring_to_itself as referring_to_itself
    from polycmp_onnx.tidy import clean_up as clean_up
    from polycmp_onnx.tidy import sort_nodes as sort_nodes
    from polycmp_onnx.upper_bound import SetUpperBound as SetUpperBound
    from polycmp_onnx.upper_bound import set_upper_bound as set_upper_bound
    from polycmp_onnx.verify import save_part as save_part
    from polycmp_onnx.verify import save_verified as save_verified

_HOME = {
    "external": ("ExternalModel",),
    "load": ("OnnxLoader", "OnnxFromPath", "OnnxFromBytes", "onnx_from_path", "onnx_from_bytes"),
    "outputs": ("MARK_ALL", "ModifyOutputs", "modify_outputs"),
    "structure": ("referring_to_itself",),
    "shapes": ("InferShapes", "infer_shapes", "value_types"),
    "model_graph": ("OnnxGraph",),
    "tidy": ("clean_up", "sort_nodes"),
    "upper_bound": ("SetUpperBound", "set_upper_bound"),
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
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these

    def __getattr__(name: str) -> Any:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULE_OF])
