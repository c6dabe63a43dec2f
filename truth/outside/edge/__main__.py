"""Faults planted in .pte and .tflite files: which of them `polycmp locate` names.

    python -m truth.outside.edge [--output FILE]

Networks of six kinds with random weights are exported in the environments of `make test-executorch` and `make test-tf`
(below ENVS, by default here), faults are planted in the files, and polycmp is asked for them. What is to be named was
written down before (`plants.py`). The page is docs/outside/edge.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from truth.history.environments import ROOT
from truth.outside.edge.plants import LITE, LITE_LATER, PTE, PTE_LATER, Plant
from truth.table import machine, markdown_table, write_page

PAGE = ROOT / "docs" / "outside" / "edge.md"
_LOOPS: Mapping[str, tuple[str, Sequence[Plant], Sequence[Plant]]] = {
    "executorch": ("pte_loop", PTE, PTE_LATER),
    "tf": ("lite_loop", LITE, LITE_LATER),
}
_ALL = 1800


def ask_all(environment: str, loop: str) -> list[dict[str, Any]]:
    """Return what is said of all files of a kind.

    Args:
        environment: The environment, as in `make test-NAME`.
        loop: The script that asks.

    Raises:
        RuntimeError: It failed.
    """
    python = Path(os.environ.get("ENVS", ROOT)).absolute() / f".venv-{environment}" / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        words = [str(python), "-m", f"truth.outside.edge.{loop}", folder]
        done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=_ALL, check=False)
    if done.returncode:
        raise RuntimeError(f"{loop}: {done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def page(answers: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return the whole page.

    Args:
        answers: What is said of all files, by environment.
    """
    first = [row for name, (_, plants, _) in _LOOPS.items() for row in _rows(answers[name], plants, 0)]
    later = [row for name, (_, before, plants) in _LOOPS.items() for row in _rows(answers[name], plants, len(before))]
    healthy = [item for rows in answers.values() for item in rows if "model" in item]
    quiet = sum(item["verdict"] == "passed" for item in healthy)
    faults = ("file", "network", "operator", "fault", "named", "right", "s")
    return f"""# Faults inside files for phones

Written by `make truth-outside` ([how](../../truth/README.md#truth-that-is-not-of-our-making)). {machine()}.

Faults were planted in exports of networks of six kinds with random weights, and the operator to name was written down
([plants.py](../../truth/outside/edge/plants.py)) before polycmp was asked. `polycmp locate` names it in
**{_share(first)}**, and in **{_share(later)}** of those that were written later. Of the {len(healthy)} files without
a fault {quiet} are told to have none.

- `.pte` files are portable, without a delegate, and held beside PyTorch's exported program:
  `polycmp locate net.pt2 -b executorch:program=net.pte -b torch`.
- `.tflite` files are held beside the file in float32 without a fault, run by LiteRT's plain kernels. Those whose names
  end in 8 calculate in codes of int8.
- *Right*: one operator is named, no group of several, and it is the one that was made wrong. What only brings its
  result into another shape counts as the same operator, as does the activation that an operator of LiteRT has in it.

## The first 40

The pairing of `.pte` files was made with these at hand: of the first 26, 12 were named when it knew neither weights nor
layers. So they say what it can do, and those written later what may be expected. Three were changed, as polycmp was
right and the plants were not: twice the scale of a result was made larger in a `.tflite` file, which its readers take
into account (once no fault came of it, once a bias that was rounded for the former scale, and the operator that adds it
was named), and once two operators share the constant that was changed in a `.pte` file, and the first was named.

The one that is not named leaves out an activation that is part of an operator: the tensor before it is right there, and
what is named is the operator behind it, with the activation among what the other file has between both.

{markdown_table(faults, first)}

## Written later

Nothing in polycmp was changed for these. One of them changes nothing: no number reaches the 6 at which its activation
would cut, so that both files compute the same. Two spoke of an operator or an argument that the file has not, and were
corrected before polycmp was asked.

{markdown_table(faults, later)}

## Without a fault

{markdown_table(("file", "network", "answer", "tensors compared"), _healthy(healthy))}
"""


def _share(rows: Sequence[Sequence[object]]) -> str:
    right = sum(row[-2] == "yes" for row in rows)
    return f"{right} of {len(rows)} ({100 * right / max(len(rows), 1):.1f} %)"


def _rows(answers: Sequence[Mapping[str, Any]], plants: Sequence[Plant], begin: int) -> Iterable[Sequence[object]]:
    """Yield the rows of some plants, of which the first has the number `begin` among all."""
    for item in answers:
        place = item.get("plant", -1) - begin
        if not 0 <= place < len(plants):
            continue
        fault = plants[place]
        what = " ".join(map(str, (fault.kind, *fault.detail)))
        named = f"{item['operator']} `{_short(item['named'])}`" if item["named"] else item["words"]
        where = f"{fault.operator} {fault.number}"
        yield item["file"], fault.model, where, what, named, "yes" if item["right"] else "**no**", item["seconds"]


def _short(name: str) -> str:
    """Return the end of a name that a converter made of several."""
    first = name.partition(";")[0]
    return first.removeprefix("functional_1/").removeprefix("functional_1_1/").removeprefix("functional_2_1/")


def _healthy(answers: Iterable[Mapping[str, Any]]) -> Iterable[Sequence[object]]:
    for item in answers:
        yield item["file"], item["model"], item["words"], item["pairs"]


def main(words: Sequence[str]) -> int:
    """Ask for all faults and write the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m truth.outside.edge", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=PAGE, help="the page")
    output = parser.parse_args(words).output
    answers = {name: ask_all(name, loop) for name, (loop, _, _) in _LOOPS.items()}
    write_page(output, page(answers))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
