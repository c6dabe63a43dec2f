"""What commands say of ONNX Runtime's own optimiser tests, and whether the passes that `bisect` names are the ones.

    python -m truth.outside.ort_passes [--data FOLDER] [--output FILE]

The files are those of `ort_optimiser`, run by the release that is installed here. Each is asked of `run`,
`run --mark-all` and `locate`, with all optimisers beside none. Those of which any bit differs are asked of
`bisect --over passes` with tolerances of 0, and this module checks with ONNX Runtime alone whether the passes that it
names are sufficient (without them all bits are equal) and minimal (without any fewer of them they are not). The page is
docs/outside/ort-passes.md.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from truth.history.environments import ROOT
from truth.judge import run_words
from truth.outside import plain_loop
from truth.outside.ort_optimiser import BACKENDS, VARIABLE, copy_files, measure
from truth.table import machine, markdown_table, write_page

PAGE = ROOT / "docs" / "outside" / "ort-passes.md"
_WORK = ROOT / ".cache" / "truth-outside" / "ort-passes"
_COMMANDS = {"run": ("run",), "run --mark-all": ("run", "--mark-all"), "locate": ("locate",)}
_WORDS = {0: "passed", 1: "failed", 2: "refused", 3: "open"}
_EXACT = ("--over", "passes", "--atol", "0", "--rtol", "0")


@dataclass(frozen=True)
class Named:
    """What `bisect` named for a file, and what ONNX Runtime alone says of it.

    Attributes:
        file: The file.
        by_default: What `bisect` says where no tolerance is typed.
        passes: The passes that it names with tolerances of 0.
        sufficient: Whether all bits are equal without these passes.
        minimal: Whether they are not with any one of them.
    """

    file: str
    by_default: str
    passes: tuple[str, ...]
    sufficient: bool
    minimal: bool


def ask(path: Path, inputs: Path, words: Sequence[str]) -> tuple[str, Mapping[str, Any]]:
    """Return what a command says of a file, in one word, and its report."""
    pair = [word for backend in BACKENDS for word in ("-b", backend)]
    found = run_words([words[0], str(path), *pair, "--load-inputs", str(inputs), *words[1:]], _WORK / "found.json")
    return _WORDS.get(found.exit, str(found.exit)), found.document


def contradiction(said: Mapping[str, str]) -> str:
    """Return in words what commands say contrary to each other; looking inside may add the name of a tensor.

    Args:
        said: What each command says, by its words.
    """
    inside = {said["run --mark-all"], said["locate"]}
    if (said["run"] == "failed" and "passed" in inside) or inside == {"passed", "failed"}:
        return ", ".join(f"{name} {word}" for name, word in said.items())
    return ""


def check(path: Path, feeds: Mapping[str, Any], by_default: str, named: Sequence[str]) -> Named:
    """Check with ONNX Runtime alone whether passes are sufficient and minimal."""
    is_minimal = all(not _is_equal(path, feeds, set(named) - {name}) for name in named)
    return Named(path.stem, by_default, tuple(named), _is_equal(path, feeds, named), is_minimal and bool(named))


def _is_equal(path: Path, feeds: Mapping[str, Any], without: Collection[str]) -> bool:
    """Return whether all bits of a file's outputs are equal with all optimisers but some, and with none."""
    levels = ort.GraphOptimizationLevel
    options = ort.SessionOptions()
    options.log_severity_level = 4
    every = ort.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=list(without)
    )
    none = plain_loop.session(str(path), levels.ORT_DISABLE_ALL)
    made = [[np.asarray(array) for array in one.run(None, feeds)] for one in (every, none)]
    pairs = zip(*made, strict=True)
    return all(np.array_equal(a, b, equal_nan=b.dtype.kind == "f") for a, b in pairs)


def page(files: int, words: Mapping[str, Mapping[str, str]], named: Sequence[Named]) -> str:
    """Return the whole page."""
    counts = Counter(tuple(said.values()) for said in words.values())
    contrary = [(name, text) for name, said in words.items() if (text := contradiction(said))]
    rows = [
        [item.file, item.by_default, ", ".join(item.passes) or "none", _yes(item.sufficient), _yes(item.minimal)]
        for item in named
    ]
    right = sum(item.sufficient and item.minimal for item in named)
    return f"""# ONNX Runtime's optimisers: which pass it is

Written by `make truth-outside` ([how](../../truth/README.md#truth-that-is-not-of-our-making)). {machine()}.

{files} models that ONNX Runtime's unit tests of its optimisers make ([what each release does to
them](ort-optimiser.md)); {len(words)} run here. Each was asked of three commands with all optimisers beside none.

{markdown_table([*_COMMANDS, "files"], ([*said, count] for said, count in counts.most_common()))}

Commands that say contrary things of one file: {len(contrary)}.
{"".join(f"{chr(10)}- {name}: {text}" for name, text in contrary)}
FAILED: {", ".join(name for name, said in words.items() if "failed" in said.values()) or "none"}.

## Passes

Of {len(named)} files some bit differs. `polycmp bisect MODEL -b {BACKENDS[0]} -b {BACKENDS[1]} {" ".join(_EXACT)}`
names passes. They are sufficient if ONNX Runtime alone makes equal bits without them, and minimal if it does not with
any one of them: **{right} of {len(named)}**. The second column is what `bisect` says of the file where no tolerance is
typed: "passed" is `NO FAULT`, what differs is rounding.

{markdown_table(["file", "by default", "passes", "sufficient", "minimal"], rows)}
"""


def _yes(value: bool) -> str:
    return "yes" if value else "**no**"


def main(words: Sequence[str]) -> int:
    """Ask about every file and write the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m truth.outside.ort_passes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", default=os.environ.get(VARIABLE, ""), help=f"the folder; by default {VARIABLE}")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page")
    options = parser.parse_args(words)
    if not options.data or not Path(options.data).is_dir():
        print(f"skipped: {VARIABLE} does not name the folder of ONNX Runtime's optimiser tests")
        return 0
    _WORK.mkdir(parents=True, exist_ok=True)
    folder = _WORK / "files"
    count = copy_files(Path(options.data), folder)
    plain = measure(sys.executable, folder, os.environ)
    said: dict[str, dict[str, str]] = {}
    named = []
    for name in sorted(name for name, item in plain.items() if "refused" not in item):
        path, inputs = folder / f"{name}.onnx", _WORK / "x.npz"
        feeds = plain_loop.feeds_of(
            plain_loop.session(str(path), ort.GraphOptimizationLevel.ORT_DISABLE_ALL), f"{name}.onnx"
        )
        np.savez(inputs, allow_pickle=False, **feeds)
        said[name] = {command: ask(path, inputs, own)[0] for command, own in _COMMANDS.items()}
        if not plain[name]["equal"]:
            by_default, _ = ask(path, inputs, ("bisect", *_EXACT[:2]))
            _, document = ask(path, inputs, ("bisect", *_EXACT))
            switch = document.get("switch") or {}
            named.append(check(path, feeds, by_default, switch.get("value", ())))
            print(named[-1], flush=True)
        if contradiction(said[name]):
            print(name, said[name], flush=True)
    write_page(options.output, page(count, said, named))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
