"""Print the public Python names of Polygraphy and their parameters as JSON.

    PYTHON_OF_POLYGRAPHY tests/tools/record_api.py > tests/data/polygraphy-0.53.6/api.json

Needs nothing but Polygraphy 0.53.6, and runs in its interpreter.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys

MODULES = (
    "comparator",
    "func",
    "json",
    "logger",
    "common",
    "cuda",
    "exception",
    "backend.base",
    "backend.common",
    "backend.onnx",
    "backend.onnxrt",
    "backend.pluginref",
    "backend.trt",
)


def parameters(function: object) -> list[str]:
    """Return the names of a function's parameters, without `self` and those of any number."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [
        item.name for item in found if item.name != "self" and item.kind not in (item.VAR_POSITIONAL, item.VAR_KEYWORD)
    ]


def members(cls: type) -> dict[str, list[str]]:
    """Return the public methods of a class with their parameters; of its own and of Polygraphy's base classes."""
    found: dict[str, list[str]] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] != "polygraphy":
            continue
        for name, value in vars(base).items():
            if name.startswith("_") or name.isupper():
                continue
            function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
            found[name] = parameters(function) if callable(function) else []
    return found


def describe(value: object) -> dict[str, object]:
    """Return the parameters of what a name stands for, and those of its methods."""
    if inspect.isclass(value):
        return {"parameters": parameters(value.__init__), "members": members(value)}
    if callable(value):
        return {"parameters": parameters(value)}
    return {"parameters": [], "members": members(type(value))}


def main() -> None:
    """Print."""
    listed: dict[str, dict[str, object]] = {}
    for name in MODULES:
        module = importlib.import_module(f"polygraphy.{name}")
        for attribute in sorted(vars(module)):
            value = getattr(module, attribute)
            home = str(getattr(value, "__module__", type(value).__module__))
            if attribute.startswith("_") or inspect.ismodule(value) or not home.startswith("polygraphy"):
                continue
            listed.setdefault(name, {})[attribute] = describe(value)
    json.dump(listed, sys.stdout, indent=1, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
