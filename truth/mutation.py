"""Mutation at scale: random graphs and real architectures, each with a fault at a random operator, and without.

    python -m truth.mutation --seed N

repeats one and prints what was said. A fault counts if it reaches an output: measured by the reference evaluator in
float64, the outputs are off by more than the tolerance, and by sixteen times what rounding to the model's types does.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx

from polycmp_checks.faults import concerns
from polycmp_checks.faulty import NO_EFFECT
from polycmp_checks.plugin import FATAL, FAULTS
from truth.build import Array, Net
from truth.judge import Said, command_of, run_words
from truth.models import ARCHITECTURES, net_of

NAMED, LATER, OTHER, MISSED, FAILED = "named", "named later", "another named", "missed", "no answer"
SMALL, SMALL_OTHER = "does not reach an output", "does not reach an output, another named"
CLEAN, ACCUSED = "nothing found", "accused"
#: What is as it should be.
FINE = frozenset({NAMED, SMALL, CLEAN})
KINDS = tuple(sorted(set(FAULTS) - set(FATAL)))
#: How large an error has to be beside the largest value of an output, and beside that of rounding.
_LEAST, _MARGIN = 1e-4, 16
#: Operators that only bend tensors; one in five of them is taken.
_BENDING = frozenset({"Reshape", "Gather", "Cast", "Identity"})


@dataclass(frozen=True)
class Mutant:
    """A model, a fault in it, and a reference.

    Attributes:
        seed: What it was drawn from.
        kind: "random graph", or the architecture.
        net: Model and inputs.
        fault: A fault of the backend `faulty`.
        at: The operator's name, or its first output if it has none.
        reference: The backend to believe.
    """

    seed: int
    kind: str
    net: Net
    fault: str
    at: str
    reference: str


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant, without what it is made of, so that processes can hand it over.

    Attributes:
        seed: As in `Mutant`.
        kind: As in `Mutant`.
        fault: As in `Mutant`.
        operator: The type of the operator with the fault.
        grade: What became of the fault.
        clean: What became of the run without it.
        command: What repeats the run with the fault.
        clean_command: What repeats the other.
        said: The sentences of both.
    """

    seed: int
    kind: str
    fault: str
    operator: str
    grade: str
    clean: str
    command: str
    clean_command: str
    said: tuple[str, str]


def draw(seed: int) -> Mutant:
    """Return the mutant of a seed; every fourth is of a real architecture."""
    from truth.composing import random_net

    rng = np.random.default_rng([seed, 7])
    kind = "random graph"
    if seed % 4 == 0:
        names = list(ARCHITECTURES)
        kind = names[int(rng.integers(len(names)))]
        net = replace(net_of(kind), feed={name: _other(array, rng) for name, array in net_of(kind).feed.items()})
    else:
        net = random_net(seed)
    nodes = [node for node in net.model.graph.node if node.op_type not in _BENDING or rng.random() < 0.2]
    fault = KINDS[int(rng.integers(len(KINDS)))]
    nodes = [node for node in nodes or net.model.graph.node if concerns(fault, node.op_type)]
    if not nodes:
        fault, nodes = "row-noise", list(net.model.graph.node)
    node = nodes[int(rng.integers(len(nodes)))]
    reference = ("onnx", "onnxrt:optimization=off")[int(rng.integers(2))]
    return Mutant(seed, kind, net, fault, node.name or next(name for name in node.output if name), reference)


def _other(array: Array, rng: np.random.Generator) -> Array:
    """Return other inputs of the same kind: real numbers drawn anew, whole ones and truth values in another order."""
    if array.dtype.kind == "f":
        values = (array.std() * rng.standard_normal(array.shape) + array.mean()).astype(array.dtype)
        return np.asarray(np.abs(values) if array.min() >= 0 else values)
    return rng.permuted(array, axis=-1) if array.ndim and array.size > 2 else array


def try_out(mutant: Mutant, folder: Path) -> Outcome:
    """Run a mutant with and without its fault and say what became of it."""
    path = mutant.net.write(folder)
    feed = ["--load-inputs", str(folder / "x.npz")]
    candidate = f"faulty:backend=onnxrt,fault={mutant.fault},at={mutant.at}"
    words = ["locate", str(path), "-b", candidate, "-b", mutant.reference, *feed]
    clean_words = ["locate", str(path), "-b", "onnxrt", "-b", mutant.reference, *feed]
    said, clean = run_words(words, folder / "found.json"), run_words(clean_words, folder / "clean.json")
    nodes = mutant.net.model.graph.node
    maker = next((node for node in nodes if node.name == mutant.at), None)
    maker = maker or next(node for node in nodes if mutant.at in node.output)
    return Outcome(
        mutant.seed,
        mutant.kind,
        mutant.fault,
        maker.op_type,
        _grade(mutant, maker, said, path),
        CLEAN if clean.exit == 0 else ACCUSED if clean.exit == 1 else FAILED,
        command_of(words),
        command_of(clean_words),
        (said.sentence or said.text[-300:], clean.sentence or clean.text[-300:]),
    )


def _grade(mutant: Mutant, maker: onnx.NodeProto, said: Said, path: Path) -> str:
    if said.exit not in (0, 1):
        return FAILED
    right = bool(set(said.named) & set(maker.output))
    without_effect = any(NO_EFFECT in note for note in said.notes)
    if without_effect or not reaches(mutant, path):
        return SMALL if right or said.exit == 0 else SMALL_OTHER
    if said.exit == 0:
        return MISSED
    if right:
        return NAMED
    behind = downstream(mutant.net.model, set(maker.output))
    return LATER if set(said.named) & behind else OTHER


def downstream(model: onnx.ModelProto, start: set[str]) -> set[str]:
    """Return all tensors that are computed from some."""
    found = set(start)
    for node in model.graph.node:
        if found & set(node.input):
            found.update(node.output)
    return found - start


def reaches(mutant: Mutant, path: Path) -> bool:
    """Return whether the fault changes an output by more than the tolerance and than rounding, against float64."""
    from polycmp.cli.main import main
    from polycmp.comparator import RunResults

    saved = path.parent / "outputs.npz"
    saved.unlink(missing_ok=True)
    candidate = f"faulty:backend=onnxrt,name=faulty,fault={mutant.fault},at={mutant.at}"
    # Cut in the same places, since the whole model may be fused; without NaN, losing NaN changes nothing.
    clean = f"faulty:backend=onnxrt,name=clean,fault=nan,at={mutant.at}"
    backends = [candidate, "onnxrt:name=clean" if mutant.fault == "nan" else clean, "onnx:name=own",
                "onnx:name=truth,dtype=float64"]  # fmt: skip
    words = ["run", str(path), *(word for name in backends for word in ("-b", name))]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main([*words, "--load-inputs", str(path.parent / "x.npz"), "--save-outputs", str(saved), "-q"])
    if not saved.exists():
        return False
    made = {
        label: {name: np.asarray(array) for name, array in runs[0].items()} for label, runs in RunResults.load(saved)
    }
    if not {"faulty", "clean", "truth"} <= set(made):
        return False
    rounding = [made[name] for name in ("clean", "own") if name in made]
    return any(
        _is_off(made["faulty"][name], [other[name] for other in rounding], array)
        for name, array in made["truth"].items()
    )


def _is_off(faulty: Array, without: Sequence[Array], truth: Array) -> bool:
    """Return whether a fault, and not rounding, makes an output another one than float64 does.

    Args:
        faulty: The output with the fault.
        without: What rounding alone makes of it: ONNX Runtime, which keeps more digits than a type has where it fuses
            operators, and the reference evaluator in the model's own types.
        truth: What float64 makes.
    """
    if faulty.shape != truth.shape:
        return all(clean.shape == truth.shape for clean in without)
    if truth.dtype.kind not in "f":
        return bool((faulty != truth).any()) and all(np.array_equal(clean, truth) for clean in without)
    if np.allclose(faulty, truth, 1e-5, 1e-5, equal_nan=True):
        return False
    return _error(faulty, truth) > max(_LEAST, *(_MARGIN * _error(clean, truth) for clean in without))


def _error(made: Array, truth: Array) -> float:
    if made.shape != truth.shape:
        return float("inf")
    with np.errstate(all="ignore"):
        gap = np.atleast_1d(np.abs(made.astype(np.float64) - truth))  # without dimensions it is no array
        gap[np.atleast_1d((made == truth) | (np.isnan(made) & np.isnan(truth)))] = 0
        finite = np.abs(truth[np.isfinite(truth)])
    scale = float(finite.max()) if finite.size else 0.0
    largest = float(np.max(gap, initial=0.0))
    return largest / scale if scale and np.isfinite(largest) else float("inf") if largest else 0.0


def table(outcomes: Sequence[Outcome], seconds: float) -> str:
    """Return what was counted, as Markdown.

    Args:
        outcomes: What became of the mutants.
        seconds: How long that took.
    """
    if not outcomes:
        return "Not run."
    seeds = f"{min(item.seed for item in outcomes)} to {max(item.seed for item in outcomes)}"
    grades = (NAMED, LATER, OTHER, MISSED, FAILED)
    head = ["", "faults that reach an output", *grades, "share named", "runs without a fault", ACCUSED]
    lines = [
        f"{len(outcomes)} mutants, seeds {seeds}, took {seconds:.0f} s.",
        "",
        _line(head),
        _line(["---"] * len(head)),
    ]
    groups = {
        "random graphs": [item for item in outcomes if item.kind == "random graph"],
        "architectures": [item for item in outcomes if item.kind != "random graph"],
        "**all**": list(outcomes),
    }
    lines += [_line(_counts(name, items, grades)) for name, items in groups.items()]
    lines += ["", _line(["fault", *grades, "reaches no output"]), _line(["---"] * (len(grades) + 2))]
    for fault in KINDS:
        counted = Counter(item.grade for item in outcomes if item.fault == fault)
        small = counted[SMALL] + counted[SMALL_OTHER]
        lines.append(_line([fault, *(counted[grade] or "" for grade in grades), small]))
    other = sum(item.grade == SMALL_OTHER for item in outcomes)
    lines += ["", f"In {other} of those that reach no output another operator than the faulty one was named."]
    return "\n".join(lines)


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _counts(name: str, items: Sequence[Outcome], grades: Sequence[str]) -> list[object]:
    counted, clean = Counter(item.grade for item in items), Counter(item.clean for item in items)
    total = sum(counted[grade] for grade in grades)
    share = f"{counted[NAMED] / total:.1%}" if total else ""
    return [name, total, *(counted[grade] for grade in grades), share, len(items), clean[ACCUSED]]


def reached_goal(outcomes: Sequence[Outcome]) -> bool:
    """Return whether 99 % of the faults that reach an output are named, and no run without a fault is accused."""
    counted = Counter(item.grade for item in outcomes)
    total = sum(counted[grade] for grade in (NAMED, LATER, OTHER, MISSED, FAILED))
    return counted[NAMED] >= 0.99 * total and not any(item.clean == ACCUSED for item in outcomes)


def work(seed: str) -> Outcome:
    """Try out the mutant of a seed, given as text, in a folder of its own."""
    from truth.working import folder_of

    return try_out(draw(int(seed)), folder_of(f"mutant {seed}"))


def main(words: Sequence[str]) -> int:
    """Repeat one mutant."""
    parser = argparse.ArgumentParser(prog="python -m truth.mutation", description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    found = work(str(parser.parse_args(words).seed))
    print(f"{found.grade}: {found.fault} at {found.operator} ({found.kind})\n  {found.command}\n  {found.said[0]}")
    print(f"{found.clean}:\n  {found.clean_command}\n  {found.said[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
