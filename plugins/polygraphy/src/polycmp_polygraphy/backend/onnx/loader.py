"""Loaders of ONNX models under the names of `polygraphy.backend.onnx`."""

from __future__ import annotations

from typing import Any

from polycmp.loader import immediate
from polycmp_onnx import BytesFromOnnx as BytesFromOnnx
from polycmp_onnx import ConvertToFp16 as ConvertToFp16
from polycmp_onnx import ExtractSubgraph as _ExtractSubgraph
from polycmp_onnx import FoldConstants as FoldConstants
from polycmp_onnx import GsFromOnnx as GsFromOnnx
from polycmp_onnx import InferShapes as InferShapes
from polycmp_onnx import ModifyOutputs as ModifyOutputs
from polycmp_onnx import OnnxFromBytes as OnnxFromBytes
from polycmp_onnx import OnnxFromPath as OnnxFromPath
from polycmp_onnx import SaveOnnx as SaveOnnx
from polycmp_onnx import SetUpperBound as SetUpperBound
from polycmp_onnx import bytes_from_onnx as bytes_from_onnx
from polycmp_onnx import convert_to_fp16 as convert_to_fp16
from polycmp_onnx import fold_constants as fold_constants
from polycmp_onnx import gs_from_onnx as gs_from_onnx
from polycmp_onnx import infer_shapes as infer_shapes
from polycmp_onnx import modify_outputs as modify_outputs
from polycmp_onnx import onnx_from_bytes as onnx_from_bytes
from polycmp_onnx import onnx_from_path as onnx_from_path
from polycmp_onnx import save_onnx as save_onnx
from polycmp_onnx import set_upper_bound as set_upper_bound


class ExtractSubgraph(_ExtractSubgraph):
    """Cuts out the part of a model that leads from some tensors to others; of a graph of GraphSurgeon it gives one."""

    def call_impl(self) -> Any:
        """Return the part, in the form in which the model was given."""
        part = super().call_impl()
        return gs_from_onnx(part) if type(self.model).__module__.startswith("onnx_graphsurgeon") else part


extract_subgraph = immediate(ExtractSubgraph)
