"""What converters make of a file: quantisers, optimisers, and conversions to float16, each with its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

Feed = Mapping[str, NDArray[Any]]
Make = Callable[[Path, Path, Sequence[Feed]], None]


#: What a producer is known to do to a model that is no rounding, by the producer and the model.
CHANGED: Mapping[tuple[str, str], str] = {
    ("onnxscript", "basic-pitch"): "it removes Add(x, 1e-10) before Log: to its patterns a constant below 1e-8 is 0",
    ("onnxruntime.transformers, float16", "basic-pitch"): "it lifts the 1e-10 that is added before Log to 6e-8",
    **{
        ("onnxruntime.transformers", name): "its SkipLayerNormalization has an epsilon of 1e-12 where "
        "LayerNormalization names none, which is 1e-5"
        for name in ("encoder", "vision-transformer")
    },
}


@dataclass(frozen=True)
class Producer:
    """One converter with its settings.

    Attributes:
        name: Its name in the table.
        make: Writes a file made of another, with inputs to calibrate with.
        requires: The list of packages, below `requirements/`, that it needs beside those of all scenarios.
    """

    name: str
    make: Make
    requires: str = ""


def shuffled(feed: Feed, count: int = 8) -> list[Feed]:
    """Return inputs of the same values in other places, the first ones as they are.

    Args:
        feed: The inputs.
        count: How many.
    """
    rng = np.random.default_rng(1)
    others = [{name: rng.permutation(array.ravel()).reshape(array.shape) for name, array in feed.items()}
              for _ in range(count - 1)]  # fmt: skip
    return [feed, *others]


class _Reader:
    """Feeds for the calibration of ONNX Runtime's quantiser and its kin."""

    def __init__(self, feeds: Sequence[Feed]) -> None:
        self._all = feeds
        self.rewind()

    def get_next(self) -> Feed | None:
        return next(self._left, None)

    def rewind(self) -> None:
        self._left: Iterator[Feed] = iter(self._all)


def _static(form: str, activations: str, weights: str, calibration: str = "MinMax", **options: Any) -> Make:
    def make(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
        from onnxruntime.quantization import (
            CalibrationDataReader,
            CalibrationMethod,
            QuantFormat,
            QuantType,
            quantize_static,
        )

        reader = type("Reader", (_Reader, CalibrationDataReader), {})(feeds)
        quantize_static(
            source,
            target,
            reader,
            quant_format=QuantFormat[form],
            activation_type=QuantType[activations],
            weight_type=QuantType[weights],
            calibrate_method=CalibrationMethod[calibration],
            **options,
        )

    return make


def _prepared(make: Make) -> Make:
    """Return what first runs the pre-processing that ONNX Runtime recommends, with its optimiser."""

    def prepare(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
        from onnxruntime.quantization.shape_inference import quant_pre_process

        ready = target.with_suffix(".ready.onnx")
        quant_pre_process(source, ready, skip_symbolic_shape=True)
        make(ready, target, feeds)
        ready.unlink()

    return prepare


def _dynamic(weights: str, **options: Any) -> Make:
    def make(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
        from onnxruntime.quantization import QuantType, quantize_dynamic

        quantize_dynamic(source, target, weight_type=QuantType[weights], **options)

    return make


def _n_bits(bits: int, **options: Any) -> Make:
    def make(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

        quantizer = MatMulNBitsQuantizer(onnx.load(source), bits=bits, block_size=16, **options)
        quantizer.process()
        onnx.save(quantizer.model.model, target)

    return make


def _runtime(level: str) -> Make:
    def make(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        options.optimized_model_filepath = str(target)
        onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])

    return make


def _transformers(half: bool) -> Make:
    def make(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
        from onnxruntime.transformers.optimizer import optimize_model

        made = optimize_model(str(source), "bert", num_heads=0, hidden_size=0, opt_level=0)
        if half:
            made.convert_float_to_float16(keep_io_types=True)
        made.save_model_to_file(str(target))

    return make


def _half(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
    from onnxconverter_common import float16

    onnx.save(float16.convert_float_to_float16(onnx.load(source), keep_io_types=True), target)


def _mixed(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
    from onnxconverter_common import auto_mixed_precision

    made = auto_mixed_precision.auto_convert_mixed_precision(
        onnx.load(source), dict(feeds[0]), rtol=0.01, atol=0.001, keep_io_types=True
    )
    onnx.save(made, target)


def _slim(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
    import onnxslim

    onnx.save(onnxslim.slim(onnx.load(source)), target)


def _simplify(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
    import onnxsim

    onnx.save(onnxsim.simplify(onnx.load(source))[0], target)


def _onnxoptimizer(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
    import onnxoptimizer

    onnx.save(onnxoptimizer.optimize(onnx.load(source), onnxoptimizer.get_fuse_and_elimination_passes()), target)


def _onnxscript(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
    import onnxscript.optimizer
    import onnxscript.rewriter

    onnx.save(onnxscript.rewriter.rewrite(onnxscript.optimizer.optimize(onnx.load(source))), target)


def _neural_compressor(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
    from onnx_neural_compressor import data_reader
    from onnx_neural_compressor.quantization import QuantFormat, QuantType, config, quantize

    reader = type("Reader", (_Reader, data_reader.CalibrationDataReader), {})(feeds)
    kinds = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
    quantize(str(source), str(target), config.StaticQuantConfig(reader, quant_format=QuantFormat.QDQ, **kinds))


def _modelopt(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
    from modelopt.onnx.quantization import quantize

    whole = {name: np.concatenate([feed[name] for feed in feeds]) for name in feeds[0]}
    quantize(
        str(source),
        quantize_mode="int8",
        calibration_data=whole,
        calibration_eps=["cpu"],
        output_path=str(target),
        high_precision_dtype="fp32",
    )


_SYMMETRIC = {"ActivationSymmetric": True, "WeightSymmetric": True}
PRODUCERS: Sequence[Producer] = (
    Producer("quantize_static QDQ, defaults", _static("QDQ", "QInt8", "QInt8", reduce_range=True)),
    Producer("quantize_static QDQ, prepared", _prepared(_static("QDQ", "QInt8", "QInt8", reduce_range=True))),
    Producer("quantize_static QDQ, unsigned", _static("QDQ", "QUInt8", "QInt8", reduce_range=True)),
    Producer("quantize_static QDQ, per channel", _static("QDQ", "QInt8", "QInt8", per_channel=True, reduce_range=True)),
    Producer(
        "quantize_static QDQ, symmetric", _static("QDQ", "QInt8", "QInt8", reduce_range=True, extra_options=_SYMMETRIC)
    ),
    Producer("quantize_static QDQ, entropy", _static("QDQ", "QInt8", "QInt8", "Entropy", reduce_range=True)),
    Producer("quantize_static QDQ, percentile", _static("QDQ", "QInt8", "QInt8", "Percentile", reduce_range=True)),
    Producer("quantize_static QDQ, 16 bits", _static("QDQ", "QUInt16", "QInt8")),
    Producer(
        "quantize_static QDQ, 16 bits of Microsoft",
        _static("QDQ", "QInt16", "QInt8", extra_options={"UseQDQContribOps": True}),
    ),
    Producer("quantize_static QOperator", _static("QOperator", "QUInt8", "QInt8", reduce_range=True)),
    Producer(
        "quantize_static QOperator, per channel",
        _static("QOperator", "QUInt8", "QInt8", per_channel=True, reduce_range=True),
    ),
    Producer("quantize_dynamic, signed", _dynamic("QInt8", reduce_range=True)),
    Producer("quantize_dynamic, unsigned", _dynamic("QUInt8")),
    Producer("quantize_dynamic, per channel", _dynamic("QInt8", per_channel=True, reduce_range=True)),
    Producer("MatMulNBits, 4 bits", _n_bits(4), "onnxruntime"),
    Producer("MatMulNBits, 8 bits", _n_bits(8), "onnxruntime"),
    Producer("onnxruntime, extended", _runtime("ORT_ENABLE_EXTENDED")),
    Producer("onnxruntime, all", _runtime("ORT_ENABLE_ALL")),
    Producer("onnxruntime.transformers", _transformers(half=False), "onnxruntime"),
    Producer("onnxruntime.transformers, float16", _transformers(half=True), "onnxruntime"),
    Producer("onnxconverter-common float16", _half, "onnxconverter-common"),
    Producer("onnxconverter-common, mixed", _mixed, "onnxconverter-common"),
    Producer("onnxslim", _slim, "onnxslim"),
    Producer("onnxsim", _simplify, "onnxsim"),
    Producer("onnxoptimizer", _onnxoptimizer, "onnxoptimizer"),
    Producer("onnxscript", _onnxscript, "onnxscript"),
    Producer("onnx-neural-compressor", _neural_compressor, "onnx-neural-compressor"),
    Producer("modelopt int8", _modelopt, "modelopt"),
)
