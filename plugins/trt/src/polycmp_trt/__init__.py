"""TensorRT for polycmp: loaders, configurations, calibrators and a runner.

Importing this package imports neither TensorRT nor CUDA: each name is looked up in its module when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: Public name -> the module of this package that defines it.
_EXPORTS = {
    "DeviceBuffer": "cuda",
    "DeviceView": "views",
    "HostBuffer": "cuda",
    "pinned_empty": "cuda",
    "LoadPlugins": "runtime",
    "LoadRuntime": "runtime",
    "get_trt_logger": "runtime",
    "load_plugins": "runtime",
    "load_runtime": "runtime",
    "CreateNetwork": "network",
    "NetworkFromOnnxBytes": "network",
    "NetworkFromOnnxPath": "network",
    "create_network": "network",
    "network_from_onnx_bytes": "network",
    "network_from_onnx_path": "network",
    "MarkDebug": "network_edit",
    "ModifyNetworkOutputs": "network_edit",
    "PostprocessNetwork": "network_edit",
    "SetDecomposableAttentions": "network_edit",
    "SetLayerPrecisions": "network_edit",
    "SetTensorDatatypes": "network_edit",
    "SetTensorFormats": "network_edit",
    "mark_debug": "network_edit",
    "modify_network_outputs": "network_edit",
    "postprocess_network": "network_edit",
    "set_decomposable_attentions": "network_edit",
    "set_layer_precisions": "network_edit",
    "set_tensor_datatypes": "network_edit",
    "set_tensor_formats": "network_edit",
    "OnnxLikeFromNetwork": "onnx_like",
    "onnx_like_from_network": "onnx_like",
    "BytesFromEngine": "engine",
    "EngineBytesFromNetwork": "engine",
    "EngineFromBytes": "engine",
    "EngineFromNetwork": "engine",
    "EngineFromPath": "engine",
    "SaveEngine": "engine",
    "bytes_from_engine": "engine",
    "engine_bytes_from_network": "engine",
    "engine_from_bytes": "engine",
    "engine_from_network": "engine",
    "engine_from_path": "engine",
    "save_engine": "engine",
    "TrtRunner": "runner",
    # configuration (config.py and its neighbours)
    "CreateConfig": "config",
    "PostprocessConfig": "config",
    "create_config": "config",
    "postprocess_config": "config",
    "Profile": "profile",
    "Calibrator": "calibrator",
    "CalibratorFromData": "calibrator",
    "ConvertToBf16": "typed_onnx",
    "QuantizeToInt8": "typed_onnx",
    "ReportPrecision": "precision",
    "Algorithm": "tactics",
    "RecordTactics": "tactics",
    "ReplayTactics": "tactics",
    "TacticRecorder": "tactics",
    "TacticReplayData": "tactics",
    "TacticReplayer": "tactics",
    "TensorInfo": "tactics",
}

__all__ = sorted(_EXPORTS)  # noqa: PLE0605  (computed from the one table)


def __getattr__(name: str) -> Any:
    module = _EXPORTS.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_EXPORTS])
