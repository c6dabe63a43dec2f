"""Tools that make another file of a network; each gets eight inputs to calibrate with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

Feed = Mapping[str, NDArray[Any]]
Make = Callable[[Path, Path, Sequence[Feed]], None]


class Tool(NamedTuple):
    """A tool.

    Attributes:
        name: What it is called in the table.
        make: Makes a file of a file.
        clean: The noise of a sound file, as a share of the outputs' standard deviation, at most (choice).
        faults: Faults of the network that are planted before it.
    """

    name: str
    make: Make
    clean: float
    faults: tuple[str, ...] = ()


class _Reader:
    """Gives inputs to a calibration, as ONNX Runtime and onnx-neural-compressor ask for them."""

    def __init__(self, feeds: Sequence[Feed]) -> None:
        self._feeds = feeds
        self.rewind()

    def rewind(self) -> None:
        self._left: Iterator[Feed] = iter(self._feeds)

    def get_next(self) -> Feed | None:
        return next(self._left, None)


def _reader(feeds: Sequence[Feed]) -> Any:
    from onnxruntime.quantization import CalibrationDataReader

    return type("Reader", (_Reader, CalibrationDataReader), {})(feeds)


def _half(keep_io_types: bool) -> Make:
    def make(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
        from onnxconverter_common import float16

        onnx.save(float16.convert_float_to_float16(onnx.load(source), keep_io_types=keep_io_types), target)

    return make


def _dynamic(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(source, target, weight_type=QuantType.QInt8, extra_options={"DefaultTensorType": 1})


def _prepared(source: Path) -> Path:
    """Return the file as ONNX Runtime recommends to prepare it; as it is where that fails."""
    from onnxruntime.quantization.shape_inference import quant_pre_process

    prepared = Path(f"{source}.prepared.onnx")
    try:
        quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
    except Exception:  # noqa: BLE001 - a tool that fails is no answer of polycmp's
        return source
    return prepared


def _static(form: str, activations: str, **options: Any) -> Make:
    def make(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
        from onnxruntime.quantization import QuantFormat, QuantType, quantize_static

        quantize_static(
            _prepared(source), target, _reader(feeds), quant_format=QuantFormat[form],
            activation_type=QuantType[activations], weight_type=QuantType.QInt8,
            extra_options={"DefaultTensorType": 1}, **options,
        )  # fmt: skip

    return make


def _n_bits(config: Callable[[Sequence[Feed]], Any] = lambda feeds: None, **options: Any) -> Make:
    def make(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

        quantizer = MatMulNBitsQuantizer(onnx.load(source), algo_config=config(feeds), **options)
        quantizer.process()
        made = quantizer.model.model
        if not any(node.op_type == "MatMulNBits" for node in made.graph.node):
            raise ValueError("no product was quantised")
        onnx.save(made, target)

    return make


def _gptq(feeds: Sequence[Feed]) -> Any:
    from onnxruntime.quantization.matmul_nbits_quantizer import GPTQWeightOnlyQuantConfig

    return GPTQWeightOnlyQuantConfig(_reader(feeds), block_size=16)


def _hqq(feeds: Sequence[Feed]) -> Any:
    from onnxruntime.quantization.matmul_nbits_quantizer import HQQWeightOnlyQuantConfig

    return HQQWeightOnlyQuantConfig(block_size=16)


def _smooth(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
    from onnx_neural_compressor import data_reader
    from onnx_neural_compressor.algorithms.smoother.core import Smoother

    reader = type("Reader", (_Reader, data_reader.CalibrationDataReader), {})(feeds)
    made = Smoother(onnx.load(source), reader).transform(alpha=0.5, folding=True, op_types=["MatMul", "Gemm", "Conv"])
    onnx.save(getattr(made, "model", made), target)


def _smooth_int8(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
    smooth = Path(f"{target}.smooth.onnx")
    _smooth(source, smooth, feeds)
    _static("QDQ", "QInt8")(smooth, target, feeds)


def _equalise(source: Path, target: Path, feeds: Sequence[Feed]) -> None:
    """Give the channels between two convolutions with a Relu between them the same range in both.

    Nagel et al., Data-Free Quantization Through Weight Equalization and Bias Correction, ICCV 2019, section 4.1. No
    package on the index does so with an ONNX file by itself.
    """
    model = onnx.load(source)
    held = {item.name: item for item in model.graph.initializer}
    readers: dict[str, list[Any]] = {}
    for node in model.graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)

    def multiply(name: str, by: NDArray[Any]) -> None:
        made = (numpy_helper.to_array(held[name]) * by).astype(np.float32)
        held[name].CopyFrom(numpy_helper.from_array(made, name))

    done = False
    for node in model.graph.node:
        (between,) = readers.get(node.output[0], []) if len(readers.get(node.output[0], [])) == 1 else (None,)
        behind = readers.get(between.output[0], []) if between is not None and between.op_type == "Relu" else []
        if len(behind) != 1 or not (_is_dense(node) and _is_dense(behind[0])):
            continue
        first, second = (numpy_helper.to_array(held[item.input[1]]) for item in (node, behind[0]))
        own = np.abs(first).reshape(len(first), -1).max(axis=1)
        read = np.abs(second).transpose(1, 0, 2, 3).reshape(second.shape[1], -1).max(axis=1)
        factor = np.sqrt(own / read)
        multiply(node.input[1], 1.0 / factor[:, None, None, None])
        multiply(behind[0].input[1], factor[None, :, None, None])
        if len(node.input) > 2:
            multiply(node.input[2], 1.0 / factor)
        done = True
    if not done:
        raise ValueError("there is nothing to equalise")
    onnx.save(model, target)


def _is_dense(node: Any) -> bool:
    return node.op_type == "Conv" and not any(item.name == "group" and item.i != 1 for item in node.attribute)


TOOLS = (
    Tool("float16", _half(keep_io_types=True), 0.02, ("weight x 1.3", "weight x 1.02", "bias dropped")),
    Tool("float16, inputs too", _half(keep_io_types=False), 0.02, ("softmax axis",)),
    Tool("int8 dynamic", _dynamic, 0.15, ("weight x 1.3", "weight x 1.02")),
    Tool("int8 QDQ", _static("QDQ", "QInt8"), 0.15, ("weight x 1.3", "bias dropped")),
    Tool("int8 QOperator", _static("QOperator", "QUInt8", reduce_range=True), 0.15),
    Tool("MatMulNBits 4", _n_bits(block_size=16, is_symmetric=False), 0.3, ("weight x 1.3",)),
    Tool("MatMulNBits 8", _n_bits(block_size=32, is_symmetric=True, bits=8), 0.05),
    Tool("GPTQ 4", _n_bits(_gptq, block_size=16, is_symmetric=False), 0.3, ("weight x 1.3",)),
    Tool("HQQ 4", _n_bits(_hqq, block_size=16), 0.3),
    Tool("SmoothQuant float", _smooth, 1e-5, ("weight x 1.3",)),
    Tool("SmoothQuant int8", _smooth_int8, 0.15),
    Tool("equalised", _equalise, 1e-5),
)
