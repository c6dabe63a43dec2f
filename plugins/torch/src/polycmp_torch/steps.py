"""Steps of a PyTorch program that can be run one by one, with names and types of their tensors."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from polycmp.tensors import TensorEntry, TensorMetadata, dtype_of

__all__ = ["TYPES", "ProgramStep", "ProgramSteps", "Ref", "product_steps", "steps_of", "used"]

#: ATen operators by what ONNX calls the same; others keep their own names.
TYPES: Mapping[str, str] = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "pow": "Pow", "neg": "Neg", "abs": "Abs", "exp": "Exp",
    "log": "Log", "sqrt": "Sqrt", "erf": "Erf", "reciprocal": "Reciprocal", "matmul": "MatMul", "bmm": "MatMul",
    "mm": "MatMul", "view": "Reshape", "reshape": "Reshape", "_unsafe_view": "Reshape", "flatten": "Reshape",
    "unflatten": "Reshape", "transpose": "Transpose", "permute": "Transpose", "t": "Transpose",
    "softmax": "Softmax", "_softmax": "Softmax", "log_softmax": "LogSoftmax", "layer_norm": "LayerNormalization",
    "group_norm": "GroupNormalization", "rms_norm": "RMSNormalization", "batch_norm": "BatchNormalization",
    "instance_norm": "InstanceNormalization", "gelu": "Gelu", "relu": "Relu", "leaky_relu": "LeakyRelu",
    "elu": "Elu", "sigmoid": "Sigmoid", "tanh": "Tanh", "silu": "Swish", "hardswish": "HardSwish",
    "softplus": "Softplus", "clamp": "Clip", "hardtanh": "Clip", "embedding": "Gather", "index_select": "Gather",
    "select": "Gather", "gather": "GatherElements", "cat": "Concat", "stack": "Concat", "where": "Where",
    "masked_fill": "Where", "conv1d": "Conv", "conv2d": "Conv", "conv3d": "Conv", "convolution": "Conv",
    "conv_transpose1d": "ConvTranspose", "conv_transpose2d": "ConvTranspose", "max_pool1d": "MaxPool",
    "max_pool2d": "MaxPool", "avg_pool2d": "AveragePool", "adaptive_avg_pool2d": "GlobalAveragePool",
    "mean": "ReduceMean", "sum": "ReduceSum", "amax": "ReduceMax", "amin": "ReduceMin", "cumsum": "CumSum",
    "unsqueeze": "Unsqueeze", "squeeze": "Squeeze", "expand": "Expand", "slice": "Slice", "split": "Split",
    "chunk": "Split", "split_with_sizes": "Split", "pad": "Pad", "constant_pad_nd": "Pad", "sin": "Sin",
    "cos": "Cos", "eq": "Equal", "gt": "Greater", "ge": "GreaterOrEqual", "lt": "Less", "le": "LessOrEqual",
    "logical_not": "Not", "bitwise_not": "Not", "logical_and": "And", "bitwise_and": "And", "__and__": "And",
    "logical_or": "Or", "bitwise_or": "Or", "__or__": "Or", "maximum": "Max", "minimum": "Min",
    "scaled_dot_product_attention": "Attention", "dropout": "Dropout", "to": "Cast", "_to_copy": "Cast",
    "type_as": "Cast", "contiguous": "Identity", "clone": "Identity", "detach": "Identity", "alias": "Identity",
    "lift_fresh_copy": "Identity", "arange": "Range", "linear": "Gemm", "addmm": "Gemm",
    "_native_batch_norm_legit_no_training": "BatchNormalization", "native_layer_norm": "LayerNormalization",
    "native_group_norm": "GroupNormalization", "max_pool2d_with_indices": "MaxPool",
    "_adaptive_avg_pool2d": "GlobalAveragePool", "_log_softmax": "LogSoftmax", "rsqrt": "Rsqrt", "unbind": "Split",
}  # fmt: skip
#: Operators that hand on another shape of the same memory; what was contiguous in the trace need not be in a part.
_VIEWS = frozenset({"view", "_unsafe_view"})
_CHECKS = frozenset({"_assert_tensor_metadata", "_assert_scalar", "_assert_async", "sym_constrain_range_for_size"})


@dataclass(frozen=True)
class Ref:
    """A tensor in the arguments of a step.

    Attributes:
        name: Name of the tensor.
    """

    name: str


@dataclass(frozen=True)
class ProgramStep:
    """One call of an operator.

    Attributes:
        type: Operator type, by ONNX's name where there is one.
        target: The operator by PyTorch's name.
        function: The function to call.
        args: Positional arguments, with `Ref` in place of tensors.
        keywords: Keyword arguments, likewise.
        outputs: Names of the tensors it makes.
        module: The dotted name of the module around it.
        stack: The Python lines that led to it, the innermost last.
        several: Whether the function returns several tensors.
    """

    type: str
    target: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    keywords: Mapping[str, Any]
    outputs: tuple[str, ...]
    module: str = ""
    stack: str = ""
    several: bool = False

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of the tensors among its arguments."""
        return tuple(dict.fromkeys(_refs((self.args, dict(self.keywords)))))

    def run(self, tensors: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the tensors it makes, by name.

        Args:
            tensors: Input tensors by name.
        """
        result = self.function(*_filled(self.args, tensors), **_filled(dict(self.keywords), tensors))
        yield from zip(self.outputs, result if self.several else (result,), strict=False)


@dataclass
class ProgramSteps:
    """A program.

    Attributes:
        steps: In the order in which they run.
        constants: Parameters, buffers and other tensors of the program, by name.
        inputs: Names of its inputs.
        outputs: Names of what it returns -> names of the tensors.
        types: Types and shapes of the tensors that the steps make, as far as they are known.
        replay: Runs a module again that was written down as it ran; None for one that was traced.
    """

    steps: list[ProgramStep] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    outputs: dict[str, str] = field(default_factory=dict)
    types: TensorMetadata = field(default_factory=TensorMetadata)
    replay: Callable[..., Any] | None = None


def steps_of(torch: Any, program: Any, inputs: Iterable[str], outputs: Iterable[str]) -> ProgramSteps:
    """Return an exported program as steps.

    Args:
        torch: The module `torch`.
        program: A `torch.export.ExportedProgram`.
        inputs: Names for its inputs, in their order.
        outputs: Names for its outputs, in their order.
    """
    return _Reader(torch, program, tuple(inputs), tuple(outputs)).read()


class _Reader:
    def __init__(self, torch: Any, program: Any, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        self.torch, self.program, self.output_names = torch, program, outputs
        self.steps = ProgramSteps(inputs=inputs)
        self.names: dict[Any, str | tuple[str, ...]] = {}
        self.user_inputs = iter(inputs)

    def read(self) -> ProgramSteps:
        signature = self.program.graph_signature
        constants = {**signature.inputs_to_parameters, **signature.inputs_to_buffers,
                **signature.inputs_to_lifted_tensor_constants}  # fmt: skip
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node, constants.get(node.name, ""))
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "output":
                self._output(node.args[0])
        self.steps.steps, _ = used(self.steps, self.steps.outputs.values())
        self.steps.steps = _with_single_transposes(self.steps)
        return self.steps

    def _placeholder(self, node: Any, constant: str) -> None:
        if not constant:
            self.names[node] = next(self.user_inputs)
            return
        state = self.program.state_dict
        value = state[constant] if constant in state else self.program.constants[constant]
        self.names[node] = constant
        self.steps.constants[constant] = value.detach() if hasattr(value, "detach") else value

    def _output(self, returned: Any) -> None:
        returned_nodes = [item for item in returned if item in self.names]
        for name, item in zip(self.output_names, returned_nodes, strict=False):
            self.steps.outputs[name] = str(self.names[item])

    def _call(self, node: Any) -> None:
        target = _target(node.target)
        if self._passes_on(node, target):
            return
        if node.target is operator.getitem:
            whole = self.names[node.args[0]]
            self.names[node] = whole[node.args[1]] if isinstance(whole, tuple) else whole
            return
        value = node.meta.get("val")
        if target in _CHECKS or value is None:
            return
        modules = list((node.meta.get("nn_module_stack") or {}).values())
        module = str(modules[-1][0]) if modules else ""
        name = f"{module}/{node.name}" if module else node.name
        several = isinstance(value, (tuple, list))
        names = tuple(f"{name}.{index}" for index in range(len(value))) if several else (name,)
        self.names[node] = names if several else name
        for output, one in zip(names, value if several else (value,), strict=True):
            if hasattr(one, "shape"):
                self.steps.types.add(output, dtype_of(one), [int(dim) for dim in one.shape])
        args, keywords = self._plain(node.args), self._plain(dict(node.kwargs))
        function = self.torch.reshape if target in _VIEWS else node.target
        step = ProgramStep(
            TYPES.get(target.rstrip("_") or target, target), target, function, args, keywords, names, module,
            str(node.meta.get("stack_trace") or ""), several,
        )  # fmt: skip
        self.steps.steps += product_steps(self.torch, step, self.steps.types) if target == "linear" else [step]

    def _passes_on(self, node: Any, target: str) -> bool:
        """Name the result of a node that changes nothing after its input; return whether it is such a node."""
        kind, value = TYPES.get(target, ""), node.meta.get("val")
        name = self.names.get(node.args[0]) if node.args and hasattr(node.args[0], "op") else None
        if not isinstance(name, str) or not hasattr(value, "dtype"):
            return False
        before = node.args[0].meta.get("val")
        same = getattr(before, "dtype", None) == value.dtype and getattr(before, "device", None) == value.device
        asleep = kind == "Dropout" and node.args[2:3] == (False,)
        if not (asleep or (kind in {"Identity", "Cast"} and same)):
            return False
        self.names[node] = name
        return True

    def _plain(self, value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)(self._plain(item) for item in value)
        if isinstance(value, dict):
            return {key: self._plain(item) for key, item in value.items()}
        if isinstance(value, slice):
            return slice(self._plain(value.start), self._plain(value.stop), self._plain(value.step))
        name = self.names.get(value) if hasattr(value, "op") else None
        if isinstance(name, tuple):
            return [Ref(item) for item in name]
        return value if name is None else Ref(name)


def product_steps(torch: Any, step: ProgramStep, types: TensorMetadata) -> list[ProgramStep]:
    """Return a linear layer as exporters write it: a product and, where there is a bias, a sum.

    Args:
        torch: The module `torch`.
        step: The layer.
        types: Types and shapes of tensors as far as they are known; that of the product is added.
    """
    x, weight, *rest = step.args
    bias = rest[0] if rest else step.keywords.get("bias")
    first = step.outputs[0]
    product = f"{first}.product" if bias is not None else first
    entry: TensorEntry = types[first]
    types.add(product, entry.dtype, entry.shape)
    multiply = partial(_times_transposed, torch)
    steps = [replace(step, type="MatMul", function=multiply, args=(x, weight), keywords={}, outputs=(product,))]
    if bias is not None:
        steps.append(replace(step, type="Add", function=torch.add, args=(Ref(product), bias), keywords={}))
    return steps


def used(
    program: ProgramSteps, outputs: Iterable[str], given: Collection[str] = ()
) -> tuple[list[ProgramStep], set[str]]:
    """Return the steps that make some tensors, and the names of all that they are made of, their own among them.

    Args:
        program: The program.
        outputs: Names of the tensors.
        given: Names of tensors that need not be made.
    """
    needed, used_steps = set(outputs).difference(given), []
    for step in reversed(program.steps):
        if needed.intersection(step.outputs):
            used_steps.append(step)
            needed.update(name for name in step.reads if name not in given)
    return used_steps[::-1], needed


def _with_single_transposes(program: ProgramSteps) -> list[ProgramStep]:
    """Return the steps with two transpositions, one right after the other, as one, as exporters write them."""
    readers = Counter(name for step in program.steps for name in step.reads)
    readers.update(program.outputs.values())
    steps: dict[str, ProgramStep] = {}
    for step in program.steps:
        before = steps.get(step.reads[0]) if step.type == "Transpose" and step.reads else None
        if before is not None and before.type == "Transpose" and readers[before.outputs[0]] == 1:
            del steps[before.outputs[0]]
            joint = partial(_both, before, step)
            steps[step.outputs[0]] = replace(step, function=joint, args=before.args, keywords=before.keywords)
        else:
            steps[step.outputs[0]] = step
    return list(steps.values())


def _times_transposed(torch: Any, one: Any, two: Any) -> Any:
    return torch.matmul(one, two.t())


def _both(first: ProgramStep, second: ProgramStep, *args: Any, **keywords: Any) -> Any:
    between = first.function(*args, **keywords)
    name = first.outputs[0]
    return second.function(*_filled(second.args, {name: between}), **_filled(dict(second.keywords), {name: between}))


def _target(target: Any) -> str:
    packet = getattr(target, "overloadpacket", target)
    return str(getattr(packet, "__name__", packet))


def _refs(value: Any) -> Iterator[str]:
    if isinstance(value, Ref):
        yield value.name
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _refs(item)
    elif isinstance(value, dict):
        yield from _refs(list(value.values()))


def _filled(value: Any, tensors: Mapping[str, Any]) -> Any:
    if isinstance(value, Ref):
        return tensors[value.name]
    if isinstance(value, (tuple, list)):
        return type(value)(_filled(item, tensors) for item in value)
    if isinstance(value, dict):
        return {key: _filled(item, tensors) for key, item in value.items()}
    return value
