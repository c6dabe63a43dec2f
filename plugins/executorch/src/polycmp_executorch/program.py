"""The instructions of a program of ExecuTorch, what each reads and makes, and programs of some of them."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from polycmp.errors import ModelError
from polycmp.tensors import as_dtype
from polycmp_executorch.pte import PteFile

#: Element types by the schema's names, by NumPy's.
TYPES: Mapping[str, str] = {
    "BYTE": "uint8", "CHAR": "int8", "SHORT": "int16", "INT": "int32", "LONG": "int64", "HALF": "float16",
    "FLOAT": "float32", "DOUBLE": "float64", "BOOL": "bool", "BFLOAT16": "bfloat16", "UINT16": "uint16",
    "UINT32": "uint32", "UINT64": "uint64", "FLOAT8E5M2": "float8_e5m2", "FLOAT8E4M3FN": "float8_e4m3fn",
}  # fmt: skip
_VIEW, LINEAR = "aten::view_copy", "aten::addmm"
#: Bytes that the place of a tensor in memory is a multiple of.
_ALIGNMENT = 16
#: The bytes of an element of a type that is not listed.
_WIDEST = 8


@dataclass(frozen=True)
class Call:
    """One instruction.

    Attributes:
        operator: Name of the operator or delegate: `aten::convolution`, `XnnpackBackend`.
        content: The instruction as it is in the file; None for a view, which takes none.
        args: Places of the values that it is given, results included.
        reads: Places of the tensors, and of what was computed, that it reads.
        makes: Places of the values that it makes.
    """

    operator: str
    content: Mapping[str, Any] | None
    args: tuple[int, ...]
    reads: tuple[int, ...]
    makes: tuple[int, ...]

    @property
    def is_delegate(self) -> bool:
        """Whether a delegate runs."""
        return self.content is not None and self.content["instr_args_type"] == "DelegateCall"


class PteProgram:
    """A method of a program.

    Args:
        file: The file.
        path: Its name, for messages.

    Attributes:
        file: The file.
        path: Its name, for messages.
        inputs: Places of the values that a caller feeds.
        outputs: Places of the values that it returns.
    """

    def __init__(self, file: PteFile, path: str) -> None:
        self.file, self.path = file, path
        plans = file.program["execution_plan"]
        self._plan = next((plan for plan in plans if plan["name"] == "forward"), plans[0])
        self._values = [(item.get("val_type", "NONE"), item.get("val") or {}) for item in self._plan["values"]]
        self.inputs = tuple(self._plan.get("inputs", ()))
        self.outputs = tuple(dict.fromkeys(self._plan.get("outputs", ())))

    @property
    def method(self) -> str:
        """The method's name."""
        return str(self._plan["name"])

    def value(self, place: int) -> Any:
        """Return a plain value: a number, a text, or a list of such; None for others."""
        kind, value = self._values[place]
        if kind == "IntList":  # of places of numbers
            return [self.value(item) for item in value.get("items", ())]
        if kind.endswith("List") and "Tensor" not in kind:
            return list(value.get("items", ()))
        default = {"Int": 0, "Bool": False, "Double": 0.0, "String": ""}.get(kind)
        return next(iter(value.values()), default) if default is not None else None

    def tensor(self, place: int) -> Mapping[str, Any] | None:
        """Return what the file says of a tensor; None for a value of another kind."""
        kind, value = self._values[place]
        return value if kind == "Tensor" else None

    def entry(self, place: int) -> tuple[str | None, tuple[int, ...] | None]:
        """Return the type and shape of a tensor; None for what the file does not say, or inputs decide.

        Args:
            place: The tensor's place among the values.
        """
        tensor = self.tensor(place)
        if tensor is None:
            return None, None
        sizes = tuple(tensor.get("sizes", ()))
        return TYPES.get(tensor.get("scalar_type", "BYTE")), sizes if self._is_static(tensor) else (-1,) * len(sizes)

    @staticmethod
    def _is_static(tensor: Mapping[str, Any]) -> bool:
        return bool(tensor.get("shape_dynamism", "STATIC") == "STATIC")

    def order(self, place: int) -> list[int]:
        """Return the order in which the dimensions of a tensor lie in memory."""
        return list((self.tensor(place) or {}).get("dim_order", ()))

    @cached_property
    def weights(self) -> frozenset[int]:
        """Places of the tensors that the file holds."""
        return frozenset(filter(self.is_weight, range(len(self._values))))

    def with_apart_sums(self) -> PteProgram:
        """Return the same program with what a linear layer adds to its product as an operator of its own.

        Other formats have it so, and PyTorch's exports; the product is that of the same kernel, told to add nothing.
        """
        plan = {**self._plan, "values": list(self._plan["values"]), "operators": list(self._plan["operators"])}
        plan["operators"].append({"name": "aten::add", "overload": "out"})
        numbers = [{"val_type": "Int", "val": {"int_val": number}} for number in (0, 1)]
        zero, one = len(plan["values"]), len(plan["values"]) + 1
        plan["values"] += numbers
        plan["chains"] = [{**chain, "instructions": []} for chain in self._plan["chains"]]
        for chain, written in zip(self._plan["chains"], plan["chains"], strict=True):
            for item in chain.get("instructions", ()):
                args = item["instr_args"].get("args", ())
                is_linear = (
                    item["instr_args_type"] == "KernelCall" and self._name("KernelCall", item["instr_args"]) == LINEAR
                )
                if not is_linear or (self.value(args[3]), self.value(args[4])) != (1, 1):
                    written["instructions"].append(item)
                    continue
                bias, out, product = args[0], args[-1], len(plan["values"])
                plan["values"].append(copy.deepcopy(plan["values"][out]))
                multiplied = {**item["instr_args"], "args": [*args[:3], zero, args[4], product, product]}
                added = {"op_index": len(plan["operators"]) - 1, "args": [product, bias, one, out, out]}
                written["instructions"] += [
                    {**item, "instr_args": multiplied}, {"instr_args_type": "KernelCall", "instr_args": added},
                ]  # fmt: skip
        return PteProgram(PteFile({**self.file.program, "execution_plan": [plan]}, self.file.segments), self.path)

    def lacking(self, operators: Iterable[str], is_available: Callable[[str], bool]) -> str:
        """Return what a runtime lacks for the program, in words; empty for nothing.

        Args:
            operators: Names of the operators that it has, with the overload: `aten::add.out`.
            is_available: Tells whether it has a delegate.
        """
        known = set(operators)
        names = (
            item["name"] + (f".{item['overload']}" if item.get("overload") else "")
            for item in self._plan.get("operators", ())
        )
        lacking = [f"operator {name}" for name in names if name not in known]
        lacking += [
            f"delegate {item['id']}" for item in self._plan.get("delegates", ()) if not is_available(item["id"])
        ]
        return ", ".join(dict.fromkeys(lacking))

    def is_weight(self, place: int) -> bool:
        """Return whether the file holds a tensor: a constant, or what a state begins with."""
        tensor = self.tensor(place)
        return tensor is not None and bool(tensor.get("data_buffer_idx") or tensor.get("extra_tensor_info"))

    @cached_property
    def calls(self) -> list[Call]:
        """The instructions in their order, and views, for which a program has none: they lie where their tensor does.

        Raises:
            ModelError: They do not run one after the other.
        """
        known = {*self.inputs, *self.weights}
        latest = {self._memory_of(at): at for at in self.inputs}
        calls: list[Call] = []

        def add(call: Call) -> None:
            calls.append(call)
            known.update(call.makes)
            if call.content is not None:  # of views of one tensor none is made of another
                latest.update({self._memory_of(at): at for at in call.makes})

        def add_views(places: Iterable[int]) -> None:
            for at in places:
                if at not in known and self._memory_of(at) in latest:
                    add(Call(_VIEW, None, (), (latest[self._memory_of(at)],), (at,)))

        for item in (item for chain in self._plan["chains"] for item in chain.get("instructions", ())):
            kind, content = item["instr_args_type"], item["instr_args"]
            if kind == "FreeCall":
                continue
            if kind not in {"KernelCall", "DelegateCall"}:
                raise ModelError(
                    f"the operators of {self.path} do not run one after the other", whose="executorch",
                    why=f"there is a branch or a loop in it ({kind})",
                    hint="compare the outputs alone: polycmp run MODEL -b …",
                )  # fmt: skip
            args = tuple(content.get("args", ()))
            makes = self._results(args, known) if kind == "DelegateCall" else (*self._tensors(args[-1:]),) or args[-1:]
            add_views(at for at in self._tensors(args) if at not in makes)
            listed = [at for at in args if self._values[at][0] == "IntList"]
            numbers = [number for at in listed for number in self._values[at][1].get("items", ())]
            reads = dict.fromkeys(at for at in (*self._tensors(args), *args, *numbers) if at in known)
            makes = tuple(dict.fromkeys(makes))
            add(Call(self._name(kind, content), item, args, tuple(at for at in reads if at not in makes), makes))
        add_views(self.outputs)
        return calls

    def _results(self, args: Sequence[int], known: set[int]) -> tuple[int, ...]:
        """Return the tensors that a delegate makes, which it is given behind those that it reads."""
        behind = max((place for place, at in enumerate(args) if at in known), default=-1) + 1
        return tuple(self._tensors(args[behind:]))

    def _name(self, kind: str, content: Mapping[str, Any]) -> str:
        if kind == "DelegateCall":
            return str(self._plan["delegates"][content.get("delegate_index", 0)]["id"])
        return str(self._plan["operators"][content.get("op_index", 0)]["name"])

    def _memory_of(self, place: int) -> tuple[int, ...]:
        """Return the planned place of a tensor in memory; of what has none, something that no other has."""
        where = (self.tensor(place) or {}).get("allocation_info")
        keys = ("memory_id", "memory_offset_low", "memory_offset_high")
        return (-1, place) if where is None else tuple(where.get(key, 0) for key in keys)

    def _tensors(self, places: Iterable[int]) -> Iterator[int]:
        for at in places:
            kind, value = self._values[at]
            if kind == "Tensor":
                yield at
            elif kind in {"TensorList", "OptionalTensorList"}:
                yield from (item for item in value.get("items", ()) if item >= 0)

    def constant(self, place: int) -> bytes:
        """Return the numbers of a constant.

        Args:
            place: The tensor's place among the values.

        Raises:
            ModelError: They lie in another file.
        """
        tensor = self._values[place][1]
        index, size = tensor.get("data_buffer_idx", 0), _size(tensor)
        inline = self.file.program.get("constant_buffer")
        if inline:
            return bytes(inline[index].get("storage", ()))[:size]
        table = self.file.program.get("constant_segment") or {}
        offsets = table.get("offsets", ())
        if not 0 < index < len(offsets):
            raise ModelError(
                f"the weights of {self.path} lie in another file", whose="executorch",
                hint="export it with the weights in the program (without external_constants)",
            )  # fmt: skip
        segment: bytes = self.file.segments[table.get("segment_index", 0)]
        return segment[offsets[index] : offsets[index] + size]

    def part(self, inputs: Mapping[int, Sequence[int]], outputs: Sequence[int]) -> PteFile:
        """Return a program of the instructions that make some values of others, with no more weights than they need.

        No two tensors share memory in it, so that each keeps its numbers until the end.

        Args:
            inputs: Places of what is fed, with its shape.
            outputs: Places of what is asked for.
        """
        needed, calls = set(outputs).difference(inputs), list[Call]()
        for call in reversed(self.calls):
            if needed.intersection(call.makes):
                calls.insert(0, call)
                needed.update(at for at in call.reads if at not in inputs)
        used = self._used({*inputs, *outputs, *(at for call in calls for at in (*call.args, *call.reads, *call.makes))})
        held = [at for at in used if at not in inputs and self.is_weight(at)]
        program, segments = self._without_weights(any(call.is_delegate for call in calls))
        offsets, weights = (
            [0] * (1 + max((self._values[at][1]["data_buffer_idx"] for at in held), default=0)),
            bytearray(),
        )
        for at in held:
            weights += bytes(-len(weights) % _ALIGNMENT)
            offsets[self._values[at][1]["data_buffer_idx"]] = len(weights)
            weights += self.constant(at)
        program["constant_segment"] = {"segment_index": len(segments), "offsets": offsets}
        values, memory = self._apart(used, inputs, {call.makes[0]: call.reads[0] for call in calls if not call.content})
        chain = {"inputs": [], "outputs": [], "instructions": [call.content for call in calls if call.content]}
        plan = {key: self._plan[key] for key in ("name", "operators", "delegates") if key in self._plan}
        plan |= {"values": values, "inputs": list(inputs), "outputs": list(outputs), "chains": [chain]}
        if not any(call.is_delegate for call in calls):
            plan["delegates"] = []
        program["execution_plan"] = [plan | {"non_const_buffer_sizes": [0, memory]}]
        return PteFile(program, [*segments, bytes(weights)])

    def _used(self, places: set[int]) -> set[int]:
        """Return places with those in their lists."""
        listed = {
            item for at in places if self._values[at][0] in _LISTS for item in self._values[at][1].get("items", ())
        }
        return places | {at for at in listed if at >= 0}

    def _without_weights(self, with_delegates: bool) -> tuple[dict[str, Any], list[bytes]]:
        """Return the program without its plans and constants, and the segments of delegates."""
        kept = ("version", "backend_delegate_data", "named_data") if with_delegates else ("version",)
        program = {key: value for key, value in self.file.program.items() if key in kept}
        constants = (self.file.program.get("constant_segment") or {}).get("segment_index", 0)
        has_constants = bool((self.file.program.get("constant_segment") or {}).get("offsets"))
        segments = self.file.segments if with_delegates else []
        return program, [b"" if has_constants and at == constants else data for at, data in enumerate(segments)]

    def _apart(
        self, used: set[int], inputs: Mapping[int, Sequence[int]], views: Mapping[int, int]
    ) -> tuple[list[Any], int]:
        """Return the values with a place of its own in memory for each tensor but views, and the bytes of all."""
        values, memory = list[dict[str, Any]](), 0
        for at, (kind, value) in enumerate(self._values):
            if at not in used:
                values.append({"val_type": "Null", "val": {}})
                continue
            content = dict(value)
            if kind == "Tensor" and at in inputs:
                content |= {"sizes": list(inputs[at]), "data_buffer_idx": 0}
            if kind == "Tensor" and (at in inputs or (content.get("allocation_info") and not self.is_weight(at))):
                low, high = memory & 0xFFFFFFFF, memory >> 32
                content["allocation_info"] = {"memory_id": 1, "memory_offset_low": low, "memory_offset_high": high}
                memory += _size(content) + -_size(content) % _ALIGNMENT
            values.append({"val_type": kind, "val": content})
        for view, tensor in views.items():
            values[view]["val"]["allocation_info"] = values[tensor]["val"]["allocation_info"]
        return values, memory


_LISTS = frozenset({"IntList", "TensorList", "OptionalTensorList"})


def _size(tensor: Mapping[str, Any]) -> int:
    name, sizes = TYPES.get(tensor.get("scalar_type", "BYTE")), [int(size) for size in tensor.get("sizes", ())]
    return math.prod(sizes) * (_WIDEST if name is None else as_dtype(name).itemsize)
