"""Writes the table of polycmp-pluginref's README: each operator, what it computes, the formula's source, its tests.

    python tests/reference_table.py

`make tables` runs it. The table is made of the docstrings of the functions that the package registers, and of the tests
that name the operator.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from polycmp_pluginref import ops as _ours  # noqa: F401  (importing registers)
from polycmp_pluginref.registry import Reference, registered

_PACKAGE = Path(__file__).parents[1] / "plugins" / "pluginref"
README, TESTS = _PACKAGE / "README.md", _PACKAGE / "tests" / "test_references.py"
_FOLDER = "https://github.com/polycmp/polycmp/blob/main/plugins/pluginref/src/polycmp_pluginref"
_MARKED = re.compile(r"(<!-- references -->\n).*?(\n<!-- end of references -->)", re.DOTALL)
_SOURCE = re.compile(r"Source: (.+?)\.(?:\s|$)", re.DOTALL)


def tests_by_operator() -> dict[str, list[str]]:
    """Return the names of the tests in whose code an operator is named, by operator."""
    tests: dict[str, list[str]] = {}
    for function in ast.parse(TESTS.read_text(encoding="utf-8")).body:
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_"):
            named = {item.value for item in ast.walk(function) if isinstance(item, ast.Constant)}
            for operator in named:
                tests.setdefault(str(operator), []).append(function.name)
    return tests


def rows() -> Iterator[tuple[str, str, str, str, int]]:
    """Yield operator, file, formula, source and number of tests of each reference of the package."""
    tests = tests_by_operator()
    for (_, operator), function in sorted(registered().items()):
        if function.__module__.startswith("polycmp_pluginref.ops."):
            file = f"ops/{function.__module__.rpartition('.')[2]}.py"
            yield operator, file, formula(function), source(function), len(tests.get(operator, ()))


def formula(function: Reference) -> str:
    """Return what a reference computes, in the words of the first paragraph of its docstring."""
    paragraph = inspect.cleandoc(function.__doc__ or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).removeprefix("Return ").removesuffix(".")


def source(function: Reference) -> str:
    """Return where the formula of a reference is from.

    Raises:
        ValueError: Its docstring does not say so.
    """
    given = _SOURCE.search(inspect.cleandoc(function.__doc__ or ""))
    if given is None:
        raise ValueError(f"the docstring of {function.__qualname__} has no line 'Source: …'")
    return " ".join(given[1].split())


def readme() -> str:
    """Return the README with the table as the code has it."""
    lines = ["| operator | computes | source | tests |", "|---|---|---|---|"]
    lines += [
        f"| [`{operator}`]({_FOLDER}/{file}) | {text.replace('|', chr(92) + '|')} | {origin} | {count} |"
        for operator, file, text, origin, count in rows()
    ]
    return _MARKED.sub(lambda mark: mark[1] + "\n".join(lines) + mark[2], README.read_text(encoding="utf-8"))


if __name__ == "__main__":
    README.write_text(readme(), encoding="utf-8")
