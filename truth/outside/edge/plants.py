"""The faults, written down with the operator that is to be named before polycmp was run on any of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Plant:
    """A fault in a file.

    Attributes:
        model: Name of the architecture.
        operator: Type of the operator that is made wrong, as the file calls it: the one to name.
        number: Which of those in the file, from 0 on.
        kind: `weight` makes the largest number of a constant twice as large; `argument` changes a number; `operator`
            puts another operator in its place; `swap` exchanges what it reads; `twice` has it read its first operand
            twice; `row` sets the first eighth of a constant to 0; `activation` leaves out or changes what is fused;
            `scale` makes the steps of a constant's codes half as large again.
        detail: The place of the constant or argument and its new value, or the other operator.
    """

    model: str
    operator: str
    number: int
    kind: str
    detail: tuple[Any, ...] = ()


#: Of .pte files, portable: places among the arguments of the kernel.
PTE = (
    Plant("mobilenet", "convolution", 2, "weight", (1,)),
    Plant("mobilenet", "hardtanh", 3, "argument", (2, 1.0)),
    Plant("mobilenet", "add", 0, "operator", ("sub",)),
    Plant("mobilenet", "_native_batch_norm_legit_no_training", 4, "row", (1,)),
    Plant("resnet", "convolution", 0, "row", (1,)),
    Plant("resnet", "_native_batch_norm_legit_no_training", 3, "argument", (6, 0.5)),
    Plant("resnet", "add", 1, "twice"),
    Plant("resnet", "relu", 2, "operator", ("neg",)),
    Plant("resnet", "addmm", 0, "row", (0,)),
    Plant("convnext", "convolution", 1, "weight", (1,)),
    Plant("convnext", "native_layer_norm", 1, "argument", (4, 0.5)),
    Plant("convnext", "gelu", 1, "operator", ("tanh",)),
    Plant("convnext", "mul", 0, "operator", ("add",)),
    Plant("bert", "native_layer_norm", 0, "row", (2,)),
    Plant("bert", "addmm", 2, "row", (0,)),
    Plant("bert", "_softmax", 1, "argument", (1, -2)),
    Plant("bert", "mul", 0, "weight", (1,)),
    Plant("bert", "tanh", 0, "operator", ("sigmoid",)),
    Plant("gpt", "embedding", 0, "row", (0,)),
    Plant("gpt", "addmm", 3, "row", (0,)),
    Plant("gpt", "mul", 0, "weight", (1,)),
    Plant("gpt", "_softmax", 0, "argument", (1, -2)),
    Plant("vit", "convolution", 0, "weight", (1,)),
    Plant("vit", "gelu", 0, "operator", ("relu",)),
    Plant("vit", "add", 2, "operator", ("sub",)),
    Plant("vit", "native_layer_norm", 2, "argument", (4, 0.5)),
)

#: Of .tflite files: places among the operator's inputs. Models whose names end in 8 calculate in codes of int8.
LITE = (
    Plant("mobilenet", "CONV_2D", 1, "weight", (1,)),
    Plant("mobilenet", "DEPTHWISE_CONV_2D", 1, "activation", (0,)),
    Plant("mobilenet", "ADD", 0, "operator", ("SUB",)),
    Plant("mobilenet", "FULLY_CONNECTED", 0, "row", (1,)),
    Plant("resnet", "CONV_2D", 2, "row", (1,)),
    Plant("resnet", "MAX_POOL_2D", 0, "operator", ("AVERAGE_POOL_2D",)),
    Plant("resnet", "ADD", 1, "twice"),
    Plant("bert", "SOFTMAX", 0, "option", ("beta", 0.5)),
    Plant("bert", "MUL", 0, "operator", ("ADD",)),
    Plant("bert", "FULLY_CONNECTED", 1, "row", (1,)),
    Plant("mobilenet8", "DEPTHWISE_CONV_2D", 0, "row", (1,)),
    Plant("mobilenet8", "CONV_2D", 2, "scale", (1,)),
    Plant("resnet8", "CONV_2D", 2, "scale", (1,)),
    Plant("resnet8", "CONV_2D", 1, "row", (1,)),
)

#: Written when polycmp named all of the first ones that it names today, and nothing was changed for them.
PTE_LATER = (
    Plant("mobilenet", "convolution", 5, "row", (1,)),
    Plant("mobilenet", "_native_batch_norm_legit_no_training", 1, "argument", (6, 0.5)),
    Plant("mobilenet", "add", 1, "twice"),
    Plant("mobilenet", "addmm", 0, "row", (0,)),
    Plant("resnet", "convolution", 3, "weight", (1,)),
    Plant("resnet", "relu", 4, "operator", ("sigmoid",)),
    Plant("resnet", "add", 0, "operator", ("sub",)),
    Plant("convnext", "addmm", 1, "row", (0,)),
    Plant("convnext", "add", 0, "operator", ("mul",)),
    Plant("convnext", "gelu", 0, "operator", ("relu",)),
    Plant("bert", "addmm", 1, "row", (0,)),
    Plant("bert", "addmm", 8, "row", (0,)),
    Plant("bert", "gelu", 1, "operator", ("sigmoid",)),
    Plant("gpt", "native_layer_norm", 3, "row", (2,)),
    Plant("gpt", "_softmax", 1, "argument", (1, -2)),
    Plant("gpt", "addmm", 5, "row", (0,)),
    Plant("vit", "addmm", 4, "row", (0,)),
    Plant("vit", "_softmax", 0, "argument", (1, -2)),
    Plant("vit", "add", 3, "operator", ("sub",)),
    Plant("vit", "native_layer_norm", 0, "row", (2,)),
)
LITE_LATER = (
    Plant("mobilenet", "CONV_2D", 3, "row", (1,)),
    Plant("mobilenet", "DEPTHWISE_CONV_2D", 0, "weight", (1,)),
    Plant("resnet", "CONV_2D", 0, "activation", (1,)),
    Plant("resnet", "ADD", 0, "operator", ("SUB",)),
    Plant("bert", "FULLY_CONNECTED", 8, "row", (1,)),
    Plant("bert", "SOFTMAX", 1, "option", ("beta", 0.5)),
    Plant("bert", "ADD", 3, "operator", ("SUB",)),
    Plant("mobilenet8", "CONV_2D", 1, "row", (1,)),
    Plant("resnet8", "CONV_2D", 3, "scale", (1,)),
    Plant("resnet8", "FULLY_CONNECTED", 0, "scale", (1,)),
)
