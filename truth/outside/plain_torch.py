"""Tells in which layer of torch.compile the cases of a folder go wrong, knowing nothing of polycmp.

    python plain_torch.py FOLDER < cases.json

The cases are a mapping from a file's name to how its module is called: "", "dynamic" or "grad". Of each, one line of
JSON says which compilers give what eager mode does not: `eager`, which is Dynamo alone, `aot_eager` and `inductor`.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

COMPILERS = ("eager", "aot_eager", "inductor")
#: Differences, relative and absolute, from which on real numbers are wrong.
_RELATIVE, _ABSOLUTE = 1e-3, 1e-5


def tensors(value: Any) -> Iterator[Any]:
    """Yield the tensors in what a module returns."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors(item)
    else:
        yield torch.as_tensor(value).detach()


def alike(one: Any, other: Any) -> bool:
    """Return whether two tensors hold the same, NaN included, real numbers up to rounding."""
    real = one.is_floating_point() or one.is_complex()
    limits = (_RELATIVE, _ABSOLUTE) if real else (0, 0)
    same = one.shape == other.shape and one.dtype == other.dtype
    return same and bool(torch.allclose(one, other, *limits, equal_nan=True))


def is_wrong(module: Any, compiler: str, called: str) -> bool:
    """Return whether a compiler gives something else than eager mode for any of a case's inputs."""
    torch._dynamo.reset()  # noqa: SLF001 - as in a new process
    options = {"dynamic": True} if called == "dynamic" else {}
    plain, compiled = module.load_model()[0], torch.compile(module.load_model()[0], backend=compiler, **options)
    with torch.inference_mode(called != "grad"):
        for feed in module.load_data():
            found = [[*tensors(run(**{name: copied(x) for name, x in feed.items()}))] for run in (plain, compiled)]
            if len(found[0]) != len(found[1]) or not all(map(alike, *found)):
                return True
    return False


def copied(tensor: Any) -> Any:
    """Return a copy with the same strides."""
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype).copy_(tensor)


def load(path: Path) -> Any:
    """Return the module of a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    for name, called in json.load(sys.stdin).items():
        module = load(Path(sys.argv[1]) / f"{name}.py")
        wrong = [compiler for compiler in COMPILERS if is_wrong(module, compiler, called)]
        print(json.dumps({"case": name, "wrong": wrong}), flush=True)
