"""All causes, in the order in which they are asked for; among equals the cheapest comes first.

`other_network` is the last of the second looks, though it costs no run: it overrides what `beyond` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from polycmp.tensors import Feed
from polycmp_locate.causes import (
    asked_by_file,
    beyond,
    beyond_range,
    clipped_bias,
    failure,
    frozen_input,
    invented,
    left_open,
    left_out,
    narrowed,
    open_dimensions,
    other_constant,
    other_network,
    other_order,
    own_reasons,
    rounded_reading,
    saturation,
    together,
    unsteady,
)
from polycmp_locate.causes.case import Case
from polycmp_locate.setting import Setting, Stage
from polycmp_locate.trials.whole import WholeModel
from polycmp_locate.values.judged import Judged, Reason
from polycmp_locate.values.swept import SweptWindow

Ask = TypeVar("Ask", bound=Callable[..., object])


@dataclass(frozen=True)
class Rule(Generic[Ask]):
    """A cause.

    Attributes:
        name: The heading of the page docs/causes.md that explains it.
        ask: The function that looks for it.
    """

    name: str
    ask: Ask


#: Asked where one side does not run the model.
FAILS: Rule[Callable[[Setting, Feed, Stage], Judged]] = Rule("The backend fails here", failure.ask)
#: Asked before single operators are accused: what follows means nothing, or something else, where one of them is found.
TOGETHER: tuple[Rule[Callable[[Case], Judged | None]], ...] = (
    Rule("Other numbers in each run", unsteady.ask),
    Rule("Inputs in another order", other_order.ask),
    Rule("Operators that are left out", left_out.ask),
    Rule("Wrong together, right one by one", together.ask),
    Rule("Results that are left open", left_open.ask),
)
#: Asked of a verdict that is else final: each returns it as it is, or one that accuses.
SECOND_LOOKS: tuple[Rule[Callable[[Judged, WholeModel, Iterable[SweptWindow]], Judged]], ...] = (
    Rule("Numbers that were made up", invented.ask),
    Rule("A coarser type than the rest", narrowed.ask),
    Rule("Beyond rounding", beyond.ask),
    Rule("Another network", other_network.ask),
)
#: Asked of an accused operator: why it is wrong.
REASONS: tuple[Rule[Callable[[Judged, Setting, Feed], Iterator[Reason]]], ...] = (
    Rule("The exporting program's own reasons", own_reasons.ask),
    Rule("A constant frozen from the example inputs", frozen_input.ask),
    Rule("Another constant", other_constant.ask),
    Rule("Numbers beyond the range of a type", beyond_range.ask),
    Rule("A bias clipped to 32 bits", clipped_bias.ask),
    Rule("Saturating 8-bit kernels", saturation.ask),
    Rule("Numbers rounded to 8 bits beside small weights", rounded_reading.ask),
    Rule("Kernels for open dimensions", open_dimensions.ask),
    Rule("A file that asks for something else", asked_by_file.ask),
)
