"""The optimizers of ONNX Runtime that change a model, read from the log of a session."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from polycmp.errors import PolycmpError
from polycmp_onnxrt.choices import RULE_SETS, RULES, TRANSFORMERS
from polycmp_onnxrt.logs import recorded
from polycmp_onnxrt.plugin import Options, loader_arguments
from polycmp_onnxrt.session import SessionFromOnnx

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle

_CHANGED = re.compile(r"GraphTransformer (?P<name>\S+) modified: (?P<changed>[01])")


def optimizers(model: ModelHandle, options: Options | None) -> tuple[str, ...]:
    """Return the optimizers that change a model, by ONNX Runtime's own log, and the rules that those apply.

    An optimizer may find something to do only where another was left out, so sessions are made until no further one
    turns up. All known names come back where the log does not tell: for a model that no session can be made of, say.

    Args:
        model: The model handle.
        options: The backend's options.
    """
    options = replace(options or Options(), save_optimized=None, profile=None)
    names: dict[str, None] = {}
    while True:
        changed = _changing(model, replace(options, disable_optimizers=(*options.disable_optimizers, *names)))
        if changed is None:
            return (*TRANSFORMERS, *RULES)
        if names.keys() >= changed.keys():
            break
        names.update(changed)
    return (*(name for name in names if name not in RULE_SETS), *(RULES if names.keys() & {*RULE_SETS} else ()))


def _changing(model: ModelHandle, options: Options) -> dict[str, None] | None:
    """Return the names of what changes a model while a session is made; None if the log does not tell."""
    try:
        with recorded() as said:
            SessionFromOnnx(model.load("onnx"), **loader_arguments(options))()
    except PolycmpError:
        return None
    seen = [match for match in map(_CHANGED.search, said) if match]
    return dict.fromkeys(match["name"] for match in seen if match["changed"] == "1") if seen else None
