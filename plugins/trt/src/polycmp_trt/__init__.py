"""TensorRT for polycmp: loaders, configurations, calibrators and a runner.

Importing this package imports neither TensorRT nor CUDA: each name is looked up in its module when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp_trt.build.calibrator import Calibrator as Calibrator
    from polycmp_trt.build.calibrator import CalibratorFromData as CalibratorFromData
    from polycmp_trt.build.calibrator import calibrator_from_data as calibrator_from_data
    from polycmp_trt.build.config import CreateConfig as CreateConfig
    from polycmp_trt.build.config import PostprocessConfig as PostprocessConfig
    from polycmp_trt.build.config import create_config as create_config
    from polycmp_trt.build.config import postprocess_config as postprocess_config
    from polycmp_trt.build.engine import BytesFromEngine as BytesFromEngine
    from polycmp_trt.build.engine import EngineBytesFromNetwork as EngineBytesFromNetwork
    from polycmp_trt.build.engine import EngineFromBytes as EngineFromBytes
    from polycmp_trt.build.engine import EngineFromNetwork as EngineFromNetwork
    from polycmp_trt.build.engine import EngineFromPath as EngineFromPath
    from polycmp_trt.build.engine import SaveEngine as SaveEngine
    from polycmp_trt.build.engine import bytes_from_engine as bytes_from_engine
    from polycmp_trt.build.engine import engine_bytes_from_network as engine_bytes_from_network
    from polycmp_trt.build.engine import engine_from_bytes as engine_from_bytes
    from polycmp_trt.build.engine import engine_from_network as engine_from_network
    from polycmp_trt.build.engine import engine_from_path as engine_from_path
    from polycmp_trt.build.engine import save_engine as save_engine
    from polycmp_trt.build.network import CreateNetwork as CreateNetwork
    from polycmp_trt.build.network import NetworkFromOnnxBytes as NetworkFromOnnxBytes
    from polycmp_trt.build.network import NetworkFromOnnxPath as NetworkFromOnnxPath
    from polycmp_trt.build.network import create_network as create_network
    from polycmp_trt.build.network import network_from_onnx_bytes as network_from_onnx_bytes
    from polycmp_trt.build.network import network_from_onnx_path as network_from_onnx_path
    from polycmp_trt.build.network_edit import MarkDebug as MarkDebug
    from polycmp_trt.build.network_edit import ModifyNetworkOutputs as ModifyNetworkOutputs
    from polycmp_trt.build.network_edit import PostprocessNetwork as PostprocessNetwork
    from polycmp_trt.build.network_edit import SetDecomposableAttentions as SetDecomposableAttentions
    from polycmp_trt.build.network_edit import SetLayerPrecisions as SetLayerPrecisions
    from polycmp_trt.build.network_edit import SetTensorDatatypes as SetTensorDatatypes
    from polycmp_trt.build.network_edit import SetTensorFormats as SetTensorFormats
    from polycmp_trt.build.network_edit import mark_debug as mark_debug
    from polycmp_trt.build.network_edit import modify_network_outputs as modify_network_outputs
    from polycmp_trt.build.network_edit import postprocess_network as postprocess_network
    from polycmp_trt.build.network_edit import set_decomposable_attentions as set_decomposable_attentions
    from polycmp_trt.build.network_edit import set_layer_precisions as set_layer_precisions
    from polycmp_trt.build.network_edit import set_tensor_datatypes as set_tensor_datatypes
    from polycmp_trt.build.network_edit import set_tensor_formats as set_tensor_formats
    from polycmp_trt.build.precision import ReportPrecision as ReportPrecision
    from polycmp_trt.build.precision import report_precision as report_precision
    from polycmp_trt.build.profile import Profile as Profile
    from polycmp_trt.build.profile import ShapeTuple as ShapeTuple
    from polycmp_trt.build.refit import RefitEngine as RefitEngine
    from polycmp_trt.build.refit import refit_engine as refit_engine
    from polycmp_trt.build.tactics import Algorithm as Algorithm
    from polycmp_trt.build.tactics import RecordTactics as RecordTactics
    from polycmp_trt.build.tactics import ReplayTactics as ReplayTactics
    from polycmp_trt.build.tactics import TacticRecorder as TacticRecorder
    from polycmp_trt.build.tactics import TacticReplayData as TacticReplayData
    from polycmp_trt.build.tactics import TacticReplayer as TacticReplayer
    from polycmp_trt.build.tactics import TensorInfo as TensorInfo
    from polycmp_trt.build.tactics import record_tactics as record_tactics
    from polycmp_trt.build.tactics import replay_tactics as replay_tactics
    from polycmp_trt.build.typed_onnx import ConvertToBf16 as ConvertToBf16
    from polycmp_trt.build.typed_onnx import QuantizeToInt8 as QuantizeToInt8
    from polycmp_trt.build.typed_onnx import convert_to_bf16 as convert_to_bf16
    from polycmp_trt.build.typed_onnx import quantize_to_int8 as quantize_to_int8
    from polycmp_trt.run.cuda import DeviceBuffer as DeviceBuffer
    from polycmp_trt.run.cuda import HostBuffer as HostBuffer
    from polycmp_trt.run.cuda import pinned_empty as pinned_empty
    from polycmp_trt.run.device import DeviceArray as DeviceArray
    from polycmp_trt.run.runner import TrtRunner as TrtRunner
    from polycmp_trt.run.runtime import LoadPlugins as LoadPlugins
    from polycmp_trt.run.runtime import LoadRuntime as LoadRuntime
    from polycmp_trt.run.runtime import get_trt_logger as get_trt_logger
    from polycmp_trt.run.runtime import load_plugins as load_plugins
    from polycmp_trt.run.runtime import load_runtime as load_runtime
    from polycmp_trt.run.stream import Stream as Stream
    from polycmp_trt.run.views import DeviceView as DeviceView
    from polycmp_trt.show.onnx_like import OnnxLikeFromNetwork as OnnxLikeFromNetwork
    from polycmp_trt.show.onnx_like import onnx_like_from_network as onnx_like_from_network

#: Module of this package -> the public names that it defines, the same as above.
_NAMES = {
    "build.calibrator": ("Calibrator", "CalibratorFromData", "calibrator_from_data"),
    "build.config": ("CreateConfig", "PostprocessConfig", "create_config", "postprocess_config"),
    "build.engine": (
        "BytesFromEngine",
        "EngineBytesFromNetwork",
        "EngineFromBytes",
        "EngineFromNetwork",
        "EngineFromPath",
        "SaveEngine",
        "bytes_from_engine",
        "engine_bytes_from_network",
        "engine_from_bytes",
        "engine_from_network",
        "engine_from_path",
        "save_engine",
    ),
    "build.network": (
        "CreateNetwork",
        "NetworkFromOnnxBytes",
        "NetworkFromOnnxPath",
        "create_network",
        "network_from_onnx_bytes",
        "network_from_onnx_path",
    ),
    "build.network_edit": (
        "MarkDebug",
        "ModifyNetworkOutputs",
        "PostprocessNetwork",
        "SetDecomposableAttentions",
        "SetLayerPrecisions",
        "SetTensorDatatypes",
        "SetTensorFormats",
        "mark_debug",
        "modify_network_outputs",
        "postprocess_network",
        "set_decomposable_attentions",
        "set_layer_precisions",
        "set_tensor_datatypes",
        "set_tensor_formats",
    ),
    "build.precision": ("ReportPrecision", "report_precision"),
    "build.profile": ("Profile", "ShapeTuple"),
    "build.refit": ("RefitEngine", "refit_engine"),
    "build.tactics": (
        "Algorithm",
        "RecordTactics",
        "ReplayTactics",
        "TacticRecorder",
        "TacticReplayData",
        "TacticReplayer",
        "TensorInfo",
        "record_tactics",
        "replay_tactics",
    ),
    "build.typed_onnx": ("ConvertToBf16", "QuantizeToInt8", "convert_to_bf16", "quantize_to_int8"),
    "run.cuda": ("DeviceBuffer", "HostBuffer", "pinned_empty"),
    "run.device": ("DeviceArray",),
    "run.stream": ("Stream",),
    "run.runner": ("TrtRunner",),
    "run.runtime": ("LoadPlugins", "LoadRuntime", "get_trt_logger", "load_plugins", "load_runtime"),
    "run.views": ("DeviceView",),
    "show.onnx_like": ("OnnxLikeFromNetwork", "onnx_like_from_network"),
}
__all__ = sorted(name for names in _NAMES.values() for name in names)  # noqa: PLE0605  (computed from the one table)

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these
    __getattr__, __dir__ = lazy_names(__name__, _NAMES)
