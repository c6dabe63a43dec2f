"""ONNX models with other types: int8 by Q/DQ nodes; bfloat16 throughout comes from polycmp-onnx."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import sys
import tempfile
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from polycmp.errors import BackendError, DataError, ModelError, PluginError, describe_exception
from polycmp.files import atomic_write
from polycmp.loader import immediate, resolve
from polycmp.options import pick
from polycmp.tensors import TensorMetadata, to_numpy
from polycmp_onnx import ConvertToBf16, convert_to_bf16
from polycmp_onnx.load import OnnxLoader
from polycmp_trt.build.calibrator import calibration_feeds

if TYPE_CHECKING:
    from types import ModuleType

    import onnx

    from polycmp_trt.types import DataLoader, OnnxSource

__all__ = ["ConvertToBf16", "QuantizeToInt8", "convert_to_bf16", "quantize_to_int8"]

_LOG = logging.getLogger("polycmp.trt")

_MARK = "polycmp.int8.source"
_METHODS = {
    "IInt8EntropyCalibrator2": "Entropy",
    "IInt8EntropyCalibrator": "Entropy",
    "IInt8MinMaxCalibrator": "MinMax",
}


class QuantizeToInt8(OnnxLoader):
    """Quantises an ONNX model to int8 with Q/DQ nodes, by ONNX Runtime's static quantisation.

    Args:
        model: An `onnx.ModelProto`, or a callable that returns one; it is not changed.
        data_loader: Representative feeds; see `Calibrator`.
        cache: File to keep the quantised model in. If it holds this very model, quantised, no data is needed.
        base_class: The TensorRT calibrator whose way of choosing ranges comes closest.
        input_shapes: Shapes for dynamic inputs, by name or pattern.
    """

    def __init__(
        self,
        model: OnnxSource,
        data_loader: DataLoader,
        cache: str | None = None,
        base_class: str = "IInt8EntropyCalibrator2",
        input_shapes: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        self.model = model
        self.data_loader = data_loader
        self.cache = cache
        self.base_class = base_class
        self.input_shapes = input_shapes or {}

    def call_impl(self) -> onnx.ModelProto:
        """Return the quantised model.

        Raises:
            PluginError: ONNX Runtime is not installed.
            DataError: The data loader gives no data.
            BackendError: The calibrator class has no counterpart, or the cache is TensorRT's own.
            ModelError: ONNX Runtime cannot quantise the model.
        """
        model = resolve(self.model)
        mark = hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest() + f"/{self.base_class}"
        cached = _read_cache(self.cache, mark)
        if cached is not None:
            _LOG.info("the quantised model comes from the cache %s", self.cache)
            return cached
        quantised = self._quantise(_with_kernel_shapes(model))
        quantised.metadata_props.add(key=_MARK, value=mark)
        if self.cache:
            with atomic_write(self.cache) as file:
                file.write(quantised.SerializeToString())
        return quantised

    def _quantise(self, model: onnx.ModelProto) -> onnx.ModelProto:
        import onnx

        quantization = _quantization()
        method = _METHODS.get(self.base_class)
        if method is None:
            raise BackendError(
                f"quantising the model has no counterpart of {self.base_class}",
                whose="trt",
                why="this release of TensorRT has no calibrators",
                hint=f"take one of {', '.join(sorted(_METHODS))}",
            )
        reader = _reader(quantization, calibration_feeds(self.data_loader, _inputs(model, self.input_shapes)))
        # ONNX Runtime prints its progress, and stdout is for results.
        progress = contextlib.redirect_stdout(sys.stderr)
        with tempfile.TemporaryDirectory(prefix="polycmp-int8-") as folder, progress:
            target = Path(folder, "quantised.onnx")
            try:
                quantization.quantize_static(
                    model,
                    target,
                    reader,
                    quant_format=quantization.QuantFormat.QDQ,
                    activation_type=quantization.QuantType.QInt8,
                    weight_type=quantization.QuantType.QInt8,
                    per_channel=True,
                    calibrate_method=quantization.CalibrationMethod[method],
                    # TensorRT wants scales without zero points, float biases, and Q/DQ pairs at weights too.
                    extra_options={
                        "ActivationSymmetric": True,
                        "WeightSymmetric": True,
                        "QuantizeBias": False,
                        "AddQDQPairToWeight": True,
                    },
                )
            except DataError:
                raise
            except Exception as error:
                if reader.error is not None:
                    raise reader.error from None
                raise ModelError(
                    "ONNX Runtime cannot quantise the model",
                    whose="trt",
                    why=describe_exception(error),
                    hint="quantise it with other means and build the Q/DQ model without --trt-int8",
                ) from error
            return onnx.load(target)


def _with_kernel_shapes(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy whose convolutions say the shape of their kernels.

    ONNX lets them leave it to the weights, but TensorRT cannot see the weights before Q/DQ nodes.
    """
    import onnx

    shaped = deepcopy(model)
    shapes = {tensor.name: tuple(tensor.dims) for tensor in shaped.graph.initializer}
    for node in shaped.graph.node:
        known = {attribute.name for attribute in node.attribute}
        if node.op_type in {"Conv", "ConvTranspose"} and "kernel_shape" not in known and node.input[1] in shapes:
            node.attribute.append(onnx.helper.make_attribute("kernel_shape", shapes[node.input[1]][2:]))
    return shaped


def _quantization() -> ModuleType:
    try:
        from onnxruntime import quantization
    except ImportError as error:
        raise PluginError(
            "quantising a model needs ONNX Runtime",
            whose="trt",
            why=describe_exception(error),
            hint="pip install 'polycmp-onnxrt[cpu]'",
        ) from error
    return cast("ModuleType", quantization)


def _reader(quantization: ModuleType, feeds: Iterator[Mapping[str, Any]]) -> Any:
    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc,name-defined]
        error: BaseException | None = None
        count = 0

        def get_next(self) -> dict[str, Any] | None:
            try:
                feed = next(feeds, None)
            except Exception as error:
                self.error = error
                raise
            if feed is None:
                if not self.count:
                    raise DataError("the data loader gave no calibration data", whose="trt")
                return None
            self.count += 1
            return {name: to_numpy(value) for name, value in feed.items()}

    return Reader()


def _inputs(model: onnx.ModelProto, input_shapes: Mapping[str, tuple[int, ...]]) -> TensorMetadata:
    from polycmp_onnx.graph import graph_inputs, tensor_metadata

    described = tensor_metadata(graph_inputs(model.graph))
    inputs = TensorMetadata()
    for name, entry in described.items():
        inputs.add(name, entry.dtype, pick(input_shapes, name, entry.static_shape()))
    return inputs


def _read_cache(cache: str | None, mark: str) -> onnx.ModelProto | None:
    """Return the model in a cache file if it is the expected one; None if there is no file or another model."""
    if not cache or not Path(cache).is_file() or not Path(cache).stat().st_size:
        return None
    import onnx

    content = Path(cache).read_bytes()
    if content.startswith(b"TRT-"):
        raise BackendError(
            f"{cache} is a calibration cache of a TensorRT that has calibrators",
            whose="trt",
            why="this release has none; the model is quantised with Q/DQ nodes instead",
            hint="name another file for --calibration-cache, and give calibration data once",
        )
    try:
        model = onnx.load_from_string(content)
        marks = {item.key: item.value for item in model.metadata_props}
    except Exception as error:
        raise ModelError(
            f"{cache} holds no quantised model", whose="trt", why=describe_exception(error), hint=f"rm {cache}"
        ) from error
    if marks.get(_MARK) == mark:
        return model
    _LOG.warning("the cache %s belongs to another model; it is replaced", cache)
    return None


quantize_to_int8 = immediate(QuantizeToInt8)
