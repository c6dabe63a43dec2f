"""Runs what shows a fault, and writes the page."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeAlias

import numpy as np

from truth.found.fault import Fault
from truth.found.learned_faults import LearnedFault
from truth.found.torch_faults import TorchFault
from truth.table import machine

AnyFault: TypeAlias = Fault | TorchFault | LearnedFault
_SECONDS = 120
#: Printed before the value, which is printed as Python reads it.
_MARK = "VALUE "


@dataclass(frozen=True)
class Shown:
    """What became of a fault.

    Attributes:
        fault: The fault.
        release: The release of the product.
        said: What the product computes, or why it does not, in words.
        agree: The other products whose value is the right one, with their releases.
        is_shown: Whether the product is wrong and another one is right.
    """

    fault: AnyFault
    release: str
    said: str
    agree: tuple[str, ...]
    is_shown: bool


def show(fault: AnyFault) -> Shown:
    """Run a fault's model with every product that is installed."""
    wanted = np.asarray(value_of(fault.expected))
    found = {product: _run(fault, product) for product in fault.products if release_of(product)}
    if fault.product not in found:
        return Shown(fault, "", f"{fault.product} is not installed", (), False)
    agree = tuple(
        f"{product} {release_of(product)}"
        for product, (value, _) in found.items()
        if product != fault.product and _is_right(value, wanted)
    )
    value, said = found[fault.product]
    if not agree and (instead := getattr(fault, "instead", "")):
        agree = (instead,)
    return Shown(fault, release_of(fault.product), said, agree, bool(agree) and not _is_right(value, wanted))


def value_of(text: str) -> Any:
    """Return a value that a fault says as Python."""
    return eval(text, {"np": np, "sigmoid": lambda x: 1 / (1 + np.exp(-x))})


@cache
def release_of(product: str) -> str:
    """Return the release of a product that is installed; empty if it is not."""
    try:
        return version(product.partition(",")[0])
    except PackageNotFoundError:
        return ""


def _run(fault: AnyFault, product: str) -> tuple[Any, str]:
    """Return what a product computes, None if it fails, and that in words."""
    lines = fault.code(product).splitlines()
    expression = lines[-1].removeprefix("print(").removesuffix(")")
    code = "\n".join([*lines[:-1], f"print({_MARK!r} + repr(np.asarray({expression}).tolist()))"])
    environ = {**os.environ, "PYTHONWARNINGS": "ignore"}
    with tempfile.TemporaryDirectory() as folder:  # tools and engines write files
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environ, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False,
        )  # fmt: skip
    value = next((line for line in done.stdout.splitlines() if line.startswith(_MARK)), "")
    if not value:
        last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), str(done.returncode))
        return None, " ".join(last.split())[:160]
    plain = _parsed(value.removeprefix(_MARK))
    return plain, str(np.asarray(plain).round(6).tolist())


def _parsed(text: str) -> Any:
    return eval(text, {"nan": np.nan, "inf": np.inf, "__builtins__": {}})


def _is_right(value: Any, wanted: np.ndarray[Any, Any]) -> bool:
    if value is None:
        return False
    found = np.asarray(value)
    return found.shape == wanted.shape and bool(np.allclose(found, wanted, 1e-4, 1e-5, equal_nan=True))


def page(shown: Sequence[Shown]) -> str:
    """Return the whole page."""
    rows = (
        f"| [{fault.name}](#{_anchor(fault.name)}) | {fault.product} {release} | {fault.what} |"
        for fault, release in ((item.fault, item.release) for item in shown)
    )
    sections = "\n".join(line for item in shown for line in _section(item))
    return f"""# Faults of others that were found on the way

Written by `python -m truth.found`. {machine()}.

{len(shown)} faults, each in the newest release of its product on the index that day, of torch the newest built for CPUs
alone, shown by few lines without polycmp. The right value is worked out from the standard's text, and at least
one other product computes it, of torch.compile and of the exporter the function without them; where none does, it
is said what else does.
Nothing of this has been reported from here.

| fault | release | what it does |
|---|---|---|
{chr(10).join(rows)}
{sections}
"""


def _anchor(name: str) -> str:
    return "".join(letter for letter in name.lower().replace(" ", "-") if letter.isalnum() or letter in "-_")


def _section(item: Shown) -> list[str]:
    fault = item.fault
    wanted = np.asarray(value_of(fault.expected), dtype=float).round(6).tolist()
    known = getattr(fault, "issue", 0)
    said = f" Reported by others: [{known}](https://github.com/pytorch/pytorch/issues/{known})." if known else ""
    return [
        "",
        f"## {fault.name}",
        "",
        f"{fault.product} {item.release} {fault.what}.{said}",
        "",
        "```text",
        fault.code(),
        "```",
        "",
        "| | |",
        "|---|---|",
        f"| it gives | `{item.said.replace('|', '/')}` |",
        f"| right is | `{wanted}` |",
        f"| as | {fault.source} |",
        f"| so do | {', '.join(item.agree)} |",
    ]
