"""References of operators under the names of `polygraphy.backend.pluginref.references`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polycmp_pluginref import register as _register

__all__ = ["OP_REGISTRY", "register"]

#: The operators that Polygraphy has references for, which the evaluator here has as well, and what a program adds.
OP_REGISTRY: dict[str, Callable[..., Any] | None] = dict.fromkeys(
    ["Identity", "InstanceNormalization", "MeanVarianceNormalization"]
)


def register(op: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function the reference for an operator: it gets the attributes and the inputs, and returns a list.

    Args:
        op: The operator's type.
    """

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        @_register(op)
        def reference(*inputs: Any, **attributes: Any) -> Any:
            outputs = tuple(function(attributes, *inputs))
            return outputs[0] if len(outputs) == 1 else outputs

        OP_REGISTRY[op] = reference
        return reference

    return add
