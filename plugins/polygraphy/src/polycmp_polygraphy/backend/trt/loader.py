"""Loaders of networks and engines under the names of `polygraphy.backend.trt`."""

from __future__ import annotations

from polycmp_trt import BytesFromEngine as BytesFromEngine
from polycmp_trt import CreateConfig as CreateConfig
from polycmp_trt import CreateNetwork as CreateNetwork
from polycmp_trt import EngineBytesFromNetwork as EngineBytesFromNetwork
from polycmp_trt import EngineFromBytes as EngineFromBytes
from polycmp_trt import EngineFromNetwork as EngineFromNetwork
from polycmp_trt import EngineFromPath as EngineFromPath
from polycmp_trt import LoadPlugins as LoadPlugins
from polycmp_trt import LoadRuntime as LoadRuntime
from polycmp_trt import MarkDebug as MarkDebug
from polycmp_trt import ModifyNetworkOutputs as ModifyNetworkOutputs
from polycmp_trt import NetworkFromOnnxBytes as NetworkFromOnnxBytes
from polycmp_trt import NetworkFromOnnxPath as NetworkFromOnnxPath
from polycmp_trt import OnnxLikeFromNetwork as OnnxLikeFromNetwork
from polycmp_trt import PostprocessNetwork as PostprocessNetwork
from polycmp_trt import SaveEngine as SaveEngine
from polycmp_trt import SetDecomposableAttentions as SetDecomposableAttentions
from polycmp_trt import SetLayerPrecisions as SetLayerPrecisions
from polycmp_trt import SetTensorDatatypes as SetTensorDatatypes
from polycmp_trt import SetTensorFormats as SetTensorFormats
from polycmp_trt import bytes_from_engine as bytes_from_engine
from polycmp_trt import create_network as create_network
from polycmp_trt import engine_bytes_from_network as engine_bytes_from_network
from polycmp_trt import engine_from_bytes as engine_from_bytes
from polycmp_trt import engine_from_network as engine_from_network
from polycmp_trt import engine_from_path as engine_from_path
from polycmp_trt import load_plugins as load_plugins
from polycmp_trt import load_runtime as load_runtime
from polycmp_trt import mark_debug as mark_debug
from polycmp_trt import modify_network_outputs as modify_network_outputs
from polycmp_trt import network_from_onnx_bytes as network_from_onnx_bytes
from polycmp_trt import network_from_onnx_path as network_from_onnx_path
from polycmp_trt import onnx_like_from_network as onnx_like_from_network
from polycmp_trt import postprocess_network as postprocess_network
from polycmp_trt import save_engine as save_engine
from polycmp_trt import set_decomposable_attentions as set_decomposable_attentions
from polycmp_trt import set_layer_precisions as set_layer_precisions
from polycmp_trt import set_tensor_datatypes as set_tensor_datatypes
from polycmp_trt import set_tensor_formats as set_tensor_formats
