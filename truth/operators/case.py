"""A model of one operator with its inputs, and how many are made of an operator's schema."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import defs, helper

#: Operators are asked with this version of their set, or the one that brought their newest version.
_NEWEST = 25
#: Before this version of the set runtimes promise nothing.
_OLDEST = 7
_FLOAT_KINDS = {"float16": np.float16, "float32": np.float32, "float64": np.float64, "bfloat16": ml_dtypes.bfloat16}
FLOATS = tuple(np.dtype(kind) for kind in _FLOAT_KINDS.values())
INTEGERS = tuple(np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64))
F32, BOOL = np.dtype(np.float32), np.dtype(bool)

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """A model of one operator, or of the few that it takes to ask one, with its inputs.

    Attributes:
        operator: The operator that is asked.
        opset: Version of the operator's set.
        attributes: What the operator is told.
        feed: Arrays by input; the others are left out.
        nodes: The nodes.
        outputs: Names of the outputs.
        domain: The operator's set.
    """

    operator: str
    opset: int
    attributes: Mapping[str, Any]
    feed: Mapping[str, Array]
    nodes: Sequence[onnx.NodeProto]
    outputs: Sequence[str]
    domain: str = ""
    values: Sequence[onnx.ValueInfoProto] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """What is asked, in one line."""
        told = " ".join(f"{name}={_short(value)}" for name, value in self.attributes.items())
        given = ", ".join(f"{name}:{_type(array)}" for name, array in self.feed.items())
        return " ".join(filter(None, (f"{self.operator}-{self.opset}", told, f"({given})")))

    @cached_property
    def key(self) -> str:
        """A name for a file: the operator, and a digest of all that is asked."""
        parts = [self.name.encode(), *(node.SerializeToString() for node in self.nodes)]
        parts += [
            np.asarray(array).tobytes() if array.dtype.kind != "O" else repr(array).encode()
            for array in self.feed.values()
        ]
        return f"{self.operator}-{self.opset}-{hashlib.sha256(b'|'.join(parts)).hexdigest()[:12]}"

    def model(self) -> onnx.ModelProto:
        """Return the model."""
        inputs = [
            helper.make_tensor_value_info(name, element_type(array), array.shape) for name, array in self.feed.items()
        ]
        outputs = [helper.make_empty_tensor_value_info(name) for name in self.outputs]
        graph = helper.make_graph(list(self.nodes), self.operator, inputs, outputs, value_info=list(self.values))
        sets = [helper.make_opsetid("", self.opset if not self.domain else 19)]
        sets += [helper.make_opsetid(self.domain, self.opset)] if self.domain else []
        version = max(8, helper.find_min_ir_version_for(sets, ignore_unknown=True))
        return helper.make_model(graph, opset_imports=sets, ir_version=version)


def element_type(array: Array) -> int:
    """Return the number of an array's type in ONNX."""
    if array.dtype.kind in "OUS":
        return int(onnx.TensorProto.STRING)
    return int(helper.np_dtype_to_tensor_dtype(array.dtype))


def _short(value: Any) -> str:
    text = str(value)
    if isinstance(value, (list, tuple)):
        text = f"[{','.join(map(str, value))}]"
    return text if len(text) <= 40 else f"{text[:32]}…{hashlib.sha256(text.encode()).hexdigest()[:4]}"


def _type(array: Array) -> str:
    return f"{'string' if array.dtype.kind == 'O' else array.dtype}{list(array.shape)}".replace(" ", "")


@cache
def versions(operator: str, domain: str = "") -> tuple[tuple[int, Any], ...]:
    """Return the opset and the schema of each version of an operator that runtimes know."""
    found = sorted(
        (
            schema
            for schema in defs.get_all_schemas_with_history()
            if (schema.name, schema.domain) == (operator, domain)
        ),
        key=lambda schema: schema.since_version,
    )
    starts = [schema.since_version for schema in found]
    ends = [start - 1 for start in starts[1:]]
    last = max(_NEWEST, starts[-1]) if not domain else starts[-1]
    pairs = zip([*ends, last], found, strict=True)
    return tuple((opset, schema) for opset, schema in pairs if (domain or opset >= _OLDEST) and not schema.deprecated)


def allowed(operator: str, place: int, domain: str = "", opset: int = 0) -> list[np.dtype[Any]]:
    """Return the types of NumPy that an input of an operator may have in some version."""
    names = {
        text
        for at, schema in versions(operator, domain)
        if not opset or at == opset
        for text in schema.inputs[min(place, len(schema.inputs) - 1)].types
    }
    return [dtype for dtype in (*FLOATS, *INTEGERS, BOOL) if _spelled(dtype) in names]


def _spelled(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "O":
        return "tensor(string)"
    known = {"float32": "float", "float64": "double"}
    return f"tensor({known.get(dtype.name, dtype.name.replace('_', ''))})"


def _fits(schema: Any, inputs: Sequence[Array | None]) -> bool:
    """Return whether a version takes these inputs."""
    if not schema.min_input <= len(inputs) <= schema.max_input:
        return False
    by_name: dict[str, str] = {}
    for place, array in enumerate(inputs):
        if array is None:
            if schema.inputs[min(place, len(schema.inputs) - 1)].option == defs.OpSchema.FormalParameterOption.Single:
                return False
            continue
        formal = schema.inputs[min(place, len(schema.inputs) - 1)]
        spelled = _spelled(array.dtype)
        if spelled not in formal.types:
            return False
        # Inputs of one type parameter have one type, but where a variadic input may mix them.
        is_tied = formal.is_homogeneous or formal.option != defs.OpSchema.FormalParameterOption.Variadic
        if is_tied and by_name.setdefault(formal.type_str, spelled) != spelled:
            return False
    return True


def each(
    operator: str,
    inputs: Sequence[Array | None],
    *,
    domain: str = "",
    outputs: int = 1,
    since: int = 0,
    until: int = 1000,
    **choices: Iterable[Any],
) -> Iterator[Case]:
    """Make a case of every combination of attributes in every version that takes these inputs and them.

    Args:
        operator: The operator.
        inputs: Its inputs; None where one is left out.
        domain: Its set.
        outputs: How many outputs are asked for.
        since: First version of the set.
        until: Last version of the set.
        choices: By attribute the values to try; None where it is left out.
    """
    for opset, schema in versions(operator, domain):
        if not since <= opset <= until or not _fits(schema, inputs) or outputs > schema.max_output:
            continue
        for values in itertools.product(*choices.values()):
            told = {name: value for name, value in zip(choices, values, strict=True) if value is not None}
            if set(told) <= set(schema.attributes) and _has_required(schema, told) and _makes(schema, told):
                yield one(operator, opset, inputs, told, outputs, domain)


def _makes(schema: Any, told: Mapping[str, Any]) -> bool:
    """Return whether a version has the type that is asked for."""
    wanted = told.get("to")
    if wanted is None:
        return True
    name = onnx.TensorProto.DataType.Name(wanted).lower()
    return f"tensor({name})" in schema.outputs[0].types


def _has_required(schema: Any, told: Mapping[str, Any]) -> bool:
    return all(name in told for name, attribute in schema.attributes.items() if attribute.required)


def one(
    operator: str,
    opset: int,
    inputs: Sequence[Array | None],
    attributes: Mapping[str, Any],
    outputs: int = 1,
    domain: str = "",
) -> Case:
    """Make one case."""
    names = ["" if array is None else f"i{place}" for place, array in enumerate(inputs)]
    made = [f"o{place}" for place in range(outputs)]
    node = helper.make_node(operator, names, made, domain=domain, **attributes)
    feed = {name: array for name, array in zip(names, inputs, strict=True) if array is not None}
    return Case(operator, opset, attributes, feed, [node], made, domain)


def rng(*words: object) -> np.random.Generator:
    """Return a generator that draws the same numbers for the same words."""
    return np.random.default_rng(int(hashlib.sha256(repr(words).encode()).hexdigest()[:8], 16))


def draw(*shape: int, dtype: Any = F32, seed: object = 0) -> Array:
    """Return numbers of a type: normal ones, or whole ones from -5 to 5, or 0 to 5."""
    random = rng(shape, str(dtype), seed)
    kind = np.dtype(dtype)
    if kind == BOOL:
        return random.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu":
        return random.integers(-5 if kind.kind == "i" else 0, 6, shape).astype(kind)
    return np.asarray(random.standard_normal(shape)).astype(kind)


def int64s(*values: Any) -> Array:
    """Return whole numbers of 64 bits: those given, or those of the one list that is given."""
    return np.array(values[0] if len(values) == 1 and isinstance(values[0], (list, tuple)) else values, np.int64)


def told(*choices: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return sets of attributes with their values, as `each` takes them one after the other."""
    return choices


def axes_of(rank: int) -> list[int | None]:
    """Return no axis, and every axis by both its names."""
    return [None, *range(-rank, rank)]


def sample(cases: Iterable[Case], most: int) -> list[Case]:
    """Return at most so many of an operator's cases, drawn the same each time, those of a smaller number among them."""
    unique = list({case.key: case for case in cases}.values())
    order = rng("sample", unique[0].operator).permutation(len(unique))
    return [unique[place] for place in sorted(order[:most])]
