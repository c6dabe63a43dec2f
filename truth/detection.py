"""How large must a fault be to be seen? Planted faults of known size before every judge, beside pairs without a fault.

    python -m truth.detection --each 3        # writes detection.md, detection.json and docs/figures/detection.svg

A pair is a float32 model and the same model in another type (or the same), run on the same inputs. A fault is planted
behind one operator of the second file: what it makes is changed by a share of known size, under the same name. How far
that moves the outputs is measured with the runtime alone. What was tried is kept below .cache/detection, so that a run
that was stopped goes on where it was, until a source file or a package changes.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from truth.build import Array, Net
from truth.composing import random_net
from truth.models import lowbit, net_of
from truth.resuming import Kept, each

HERE = Path(__file__).parent
KEPT = HERE.parent / ".cache" / "detection"
PICTURE = HERE.parent / "docs" / "figures" / "detection.svg"
#: Shares by which what an operator makes is changed; 0 is a pair without a fault.
SIZES = (0.0, 2.0**-14, 2.0**-11, 2.0**-8, 2.0**-5, 2.0**-2, 1.0)
JUDGES: Mapping[str, tuple[str, ...]] = {
    "run --atol 1e-5 --rtol 1e-5": ("run", "--atol", "1e-5", "--rtol", "1e-5"),
    "run": ("run",),
    "run --mark-all": ("run", "--mark-all"),
    "locate": ("locate",),
}
NETS = (
    "encoder",
    "decoder",
    "vision transformer",
    "residual",
    "depthwise",
    "u-net",
    "detector",
    "super-resolution",
    "speech",
    "lstm",
    "gru",
    "graph network",
    "diffusion",
    "recommender",
    "mixture of experts",
    "functions",
    *(f"random graph {seed}" for seed in range(1, 9)),
)
#: Bounds of what a fault makes of an output, for tables.
MOVES = (
    (0.0, 5e-324, "not at all"),
    (5e-324, 1e-6, "less than 1e-6"),
    (1e-6, 1e-4, "1e-6 to 1e-4"),
    (1e-4, 1e-3, "1e-4 to 0.1 %"),
    (1e-3, 1e-2, "0.1 % to 1 %"),
    (1e-2, 1e-1, "1 % to 10 %"),
    (1e-1, float("inf"), "10 % and more"),
)
SEEN, PASSED, UNDECIDED, NO_ANSWER = "seen", "passed", "undecided", "no answer"


@dataclass(frozen=True)
class Tried:
    """One planted fault before one judge.

    Attributes:
        net: The model.
        type: The candidate's type.
        fault: The kind of fault.
        size: Its size, as a share.
        seed: What the place was drawn from.
        judge: A key of `JUDGES`.
        said: `SEEN`, `PASSED`, `UNDECIDED` or `NO_ANSWER`.
        moved: By how much the fault moves an output at most, as a share of the largest number in that output.
    """

    net: str
    type: str
    fault: str
    size: float
    seed: int
    judge: str
    said: str
    moved: float


# --- planting


class Planter:
    """Puts operators behind one tensor of a model, which change it by a known share.

    Args:
        model: The model, which is changed.
        tensor: The tensor.
        value: What it holds without the fault.
        rng: Draws places.
    """

    def __init__(self, model: onnx.ModelProto, tensor: str, value: Array, rng: np.random.Generator) -> None:
        self._graph, self._tensor, self._value, self._rng = model.graph, tensor, value, rng
        self._raw = f"{tensor}.before"
        self._nodes: list[onnx.NodeProto] = []
        self._count = 0

    def plant(self, fault: str, size: float) -> None:
        """Plant a fault of a size."""
        place, node = next(item for item in enumerate(self._graph.node) if self._tensor in item[1].output)
        node.output[list(node.output).index(self._tensor)] = self._raw
        last = FAULTS[fault](self, size)
        self._nodes.append(helper.make_node("Identity", [last], [self._tensor]))
        for offset, made in enumerate(self._nodes):
            self._graph.node.insert(place + 1 + offset, made)

    def _weight(self, values: Any) -> str:
        self._count += 1
        name = f"{self._tensor}.planted{self._count}"
        self._graph.initializer.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def _node(self, op: str, *reads: str, **attributes: Any) -> str:
        self._count += 1
        name = f"{self._tensor}.step{self._count}"
        self._nodes.append(helper.make_node(op, list(reads), [name], **attributes))
        return name

    def _times(self, factors: Array) -> str:
        return self._node("Mul", self._raw, self._weight(factors.astype(self._value.dtype)))

    def _ones(self) -> Array:
        return np.ones(self._value.shape, np.float64)

    def _largest(self) -> float:
        return float(np.abs(self._value.astype(np.float64)).max(initial=0.0))

    def scale(self, size: float) -> str:
        """All elements by the factor 1 + size."""
        return self._times(np.float64(1 + size))

    def offset(self, size: float) -> str:
        """All elements by size times the root of the mean square."""
        root = float(np.sqrt(np.mean(np.square(self._value.astype(np.float64)))))
        return self._node("Add", self._raw, self._weight(np.asarray(size * root, self._value.dtype)))

    def element(self, size: float) -> str:
        """One element by size times the largest one."""
        change = np.zeros(self._value.size)
        change[self._rng.integers(change.size)] = size * self._largest()
        return self._node("Add", self._raw, self._weight(change.reshape(self._value.shape).astype(self._value.dtype)))

    def channel(self, size: float) -> str:
        """One slice of the second axis (the last where there are two) by the factor 1 + size."""
        axis = 1 if self._value.ndim > 2 else self._value.ndim - 1
        return self._times(self._slice(axis, size))

    def row(self, size: float) -> str:
        """One slice of the first axis by the factor 1 + size."""
        return self._times(self._slice(0, size))

    def _slice(self, axis: int, size: float) -> Array:
        factors = self._ones()
        if factors.ndim:
            chosen = [slice(None)] * factors.ndim
            chosen[axis] = slice(place := int(self._rng.integers(factors.shape[axis])), place + 1)
            factors[tuple(chosen)] = 1 + size
        return factors

    def sign(self, size: float) -> str:
        """A share of the elements with the other sign."""
        factors = self._ones().ravel()
        count = max(1, round(size * factors.size))
        factors[self._rng.permutation(factors.size)[:count]] = -1
        return self._times(factors.reshape(self._value.shape))

    def permutation(self, size: float) -> str:
        """A share of the places of the last axis in another order."""
        count = self._value.shape[-1] if self._value.ndim else 1
        order = np.arange(count)
        places = self._rng.permutation(count)[: max(2, round(size * count))]
        order[places] = np.roll(order[places], 1)
        return self._node("Gather", self._raw, self._weight(order), axis=-1) if self._value.ndim else self._raw

    def stale(self, size: float) -> str:
        """A share of the elements holds what their neighbour on the last axis holds."""
        if not self._value.ndim:
            return self._raw
        count = self._value.shape[-1]
        before = self._node("Gather", self._raw, self._weight(np.roll(np.arange(count), 1)), axis=-1)
        flat = np.zeros(self._value.size, bool)
        flat[self._rng.permutation(flat.size)[: max(1, round(size * flat.size))]] = True
        return self._node("Where", self._weight(flat.reshape(self._value.shape)), before, self._raw)

    def truncation(self, size: float) -> str:
        """All elements cut off to steps of size times the largest one."""
        step = self._weight(np.asarray(max(size * self._largest(), np.finfo(np.float32).tiny), self._value.dtype))
        return self._node("Mul", self._node("Floor", self._node("Div", self._raw, step)), step)


FAULTS: Mapping[str, Callable[[Planter, float], str]] = {
    name: getattr(Planter, name)
    for name in ("scale", "offset", "element", "channel", "row", "sign", "permutation", "stale", "truncation")
}


# --- models


def source_of(name: str) -> Net:
    """Return a model in float32 with its inputs."""
    return random_net(int(name.rpartition(" ")[2])) if name.startswith("random graph") else net_of(name)


def _command(*words: str) -> int:
    from polycmp.cli.main import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        return main(list(words))


@cache
def typed(name: str, kind: str) -> onnx.ModelProto | None:
    """Return a model in a type; None if it cannot be had so."""
    net = source_of(name)
    if kind == "float32":
        return net.model
    if kind == "int8":
        try:
            return lowbit.static_int8(net, signed=False, symmetric=False, bits=7, bias=True).model
        except Exception:  # noqa: BLE001 - a graph that this way of quantising does not take
            return None
    with tempfile.TemporaryDirectory() as folder:
        path = net.write(Path(folder))
        made = Path(folder) / "made.onnx"
        if _command(
            "convert", str(path), {"float16": "--fp-to-fp16", "bfloat16": "--fp-to-bf16"}[kind], "-o", str(made)
        ):
            return None
        return onnx.load(made)


#: The candidate's backend for each type: ONNX Runtime does not calculate in bfloat16 on a CPU.
BACKENDS = {"float32": "onnxrt", "float16": "onnxrt", "bfloat16": "onnx", "int8": "onnxrt"}


def place(model: onnx.ModelProto, feed: Mapping[str, Array], rng: np.random.Generator) -> tuple[str, Array] | None:
    """Return a tensor of real numbers that an operator makes, and what it holds."""
    names = [name for node in model.graph.node if node.op_type != "Constant" for name in node.output if name]
    for name in rng.permutation(names)[:20]:
        value = _value_of(model, str(name), feed)
        if value is None or value.size < 2 or not np.any(value):
            continue
        if value.dtype.kind == "f" or value.dtype.name == "bfloat16":
            return str(name), value
    return None


def _value_of(model: onnx.ModelProto, name: str, feed: Mapping[str, Array]) -> Array | None:
    """Return what a tensor holds; None where neither evaluator shows it."""
    import onnxruntime

    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    shown.graph.output.append(onnx.ValueInfoProto(name=name))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(shown.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return np.asarray(session.run([name], dict(feed))[0])
    except Exception:  # noqa: BLE001 - bfloat16, or a tensor that it does not show
        with contextlib.suppress(Exception):
            return np.asarray(ReferenceEvaluator(model).run([name], dict(feed))[0])
    return None


def outputs_of(model: onnx.ModelProto, kind: str, feed: Mapping[str, Array]) -> list[Array]:
    """Return what the runtime of a type makes of a model's inputs."""
    if BACKENDS[kind] == "onnx":
        return [np.asarray(value, np.float64) for value in ReferenceEvaluator(model).run(None, dict(feed))]
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    kinds = {item.name: item.type for item in session.get_inputs()}
    fed = {
        name: value.astype(np.float16) if kinds[name] == "tensor(float16)" else value for name, value in feed.items()
    }
    return [np.asarray(value, np.float64) for value in session.run(None, fed)]


def moved_by(clean: Sequence[Array], changed: Sequence[Array]) -> float:
    """Return the largest difference in any output, as a share of the largest number in it without the fault."""
    shares = [0.0]
    for before, after in zip(clean, changed, strict=True):
        if before.shape != after.shape or not np.all(np.isfinite(after) == np.isfinite(before)):
            return float("inf")
        there = np.isfinite(before)
        most = float(np.abs(before[there]).max(initial=0.0))
        apart = float(np.abs(after - before)[there].max(initial=0.0))
        shares.append(apart / most if most else float("inf") if apart else 0.0)
    return max(shares)


@cache
def _clean_outputs(name: str, kind: str) -> list[Array]:
    model = typed(name, kind)
    assert model is not None
    return outputs_of(model, kind, source_of(name).feed)


def try_out(job: str) -> list[Tried]:
    """Plant one fault and ask every judge; nothing is tried where the runtime alone does not run the model.

    Args:
        job: Model, type, fault, size and seed, with bars between them.
    """
    name, kind, fault, *numbers = job.split("|")
    size, seed = float(numbers[0]), int(numbers[1])
    rng = np.random.default_rng([seed, hash_of(name), hash_of(kind), hash_of(fault)])
    source, model = source_of(name), typed(name, kind)
    if model is None:
        return []
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    if size:
        found = place(model, source.feed, rng)
        if found is None:
            return []
        Planter(changed, *found, rng).plant(fault, size)
    try:
        moved = moved_by(_clean_outputs(name, kind), outputs_of(changed, kind, source.feed))
    except Exception:  # noqa: BLE001 - the runtime alone does not run it in this type
        return []
    with tempfile.TemporaryDirectory() as folder:
        source.write(Path(folder), "source.onnx")
        path = Net(changed, source.feed).write(Path(folder))
        reference = f"onnxrt:name=source,model={Path(folder) / 'source.onnx'}"
        common = [str(path), "-b", BACKENDS[kind], "-b", reference, "--load-inputs", str(Path(folder) / "x.npz")]
        made = []
        for judge, (command, *words) in JUDGES.items():
            status = _command(command, *common, *words, "--report", str(Path(folder) / "said.json"))
            said = _said(status, Path(folder))
            made.append(Tried(name, kind, fault if size else "none", size, seed, judge, said, moved))
        return made


def hash_of(text: str) -> int:
    """Return a number that stands for a text, the same in every process."""
    return int.from_bytes(text.encode()[:6].ljust(6), "little")


def _said(status: int, folder: Path) -> str:
    if status in (0, 1):
        return SEEN if status else PASSED
    try:
        verdict = json.loads((folder / "said.json").read_text()).get("verdict")
    except (OSError, ValueError):
        verdict = ""
    return UNDECIDED if verdict in {"undecided", "blind"} else NO_ANSWER


# --- many of them


def jobs(count: int, seed: int) -> list[str]:
    """Return what to try: every pair without a fault, and each kind of fault in each size in so many models.

    Faults of one more model in each cell come after those of all before, so that a run which was stopped has as many
    faults in each cell, and one with a larger count goes on from it.
    """
    rng = np.random.default_rng(seed)
    made = [f"{name}|{kind}|scale|0|{seed}" for kind in BACKENDS for name in NETS]
    cells = [(kind, fault, size) for kind in BACKENDS for fault in FAULTS for size in SIZES[1:]]
    names = {cell: rng.permutation(np.array(NETS)) for cell in cells}
    seeds = {cell: rng.integers(1 << 30, size=len(NETS)) for cell in cells}
    for number in range(count):
        made += [
            f"{names[cells[at]][number]}|{'|'.join(map(str, cells[at]))}|{seeds[cells[at]][number]}"
            for at in rng.permutation(len(cells))
        ]
    return made


def share(items: Iterable[Tried], said: str) -> float:
    """Return the share of what was tried of which that was said."""
    found = [item.said == said for item in items]
    return sum(found) / len(found) if found else float("nan")


def page(tried: Sequence[Tried]) -> str:
    """Return the table."""
    day = time.strftime("%Y-%m-%d", time.gmtime())
    first = next(iter(JUDGES))
    planted = [t for t in tried if t.size and t.judge == first]
    unspoilt = [t for t in tried if not t.size and t.judge == first]
    per_cell = Counter((t.type, t.fault, t.size) for t in planted)
    counts = [per_cell[kind, fault, size] for kind in BACKENDS for fault in FAULTS for size in SIZES[1:]]
    each = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else str(max(counts))
    lines = [
        "# At which size a fault is seen",
        "",
        f"Written by `python -m truth.detection` on {day}: {len(planted):,} faults in {len({t.net for t in tried})} "
        f"models, {each} for each kind, size and type, and {len(unspoilt)} pairs without a fault; "
        f"{len(tried):,} commands. Each cell is the smallest size "
        "from which on at least nine of ten faults were seen (status 1), as a share of what the operator makes (of "
        "sign, permutation and stale: of the elements); – where not even of the faults of size 1 were. In brackets "
        "the share seen of all sizes. Faults that change no number of any output are left out here; the last table "
        "has them.",
    ]
    for kind in BACKENDS:
        mine = [item for item in tried if item.type == kind and (item.moved or not item.size)]
        lines += ["", f"## {kind}", "", f"| fault | {' | '.join(JUDGES)} |", f"|---|{'---|' * len(JUDGES)}"]
        for fault in FAULTS:
            cells = [_cell([t for t in mine if t.fault == fault and t.judge == judge]) for judge in JUDGES]
            lines.append(f"| {fault} | {' | '.join(cells)} |")
        clean = [[t for t in mine if t.fault == "none" and t.judge == judge] for judge in JUDGES]
        lines.append(f"| *pairs without a fault: accused* | {' | '.join(_clean(items) for items in clean)} |")
    return "\n".join([*lines, "", *_by_output(tried)])


def _by_output(tried: Sequence[Tried]) -> list[str]:
    """Return the table of shares seen by what a fault makes of the outputs."""
    lines = [
        "## By what a fault makes of the outputs",
        "",
        "The same faults by the largest difference that they make in an output, as a share of the largest number in "
        "it, measured with the runtime alone: the share seen and, in brackets, called undecided.",
        "",
        f"| type | an output moves by | faults | {' | '.join(JUDGES)} |",
        f"|---|---|---|{'---|' * len(JUDGES)}",
    ]
    for kind in BACKENDS:
        for low, high, words in MOVES:
            items = [t for t in tried if t.type == kind and t.size and low <= min(t.moved, 1e300) < high]
            each_judge = [[t for t in items if t.judge == judge] for judge in JUDGES]
            if items:
                cells = [f"{share(part, SEEN):.0%} ({share(part, UNDECIDED):.0%})" for part in each_judge]
                lines.append(f"| {kind} | {words} | {len(each_judge[0])} | {' | '.join(cells)} |")
    return [*lines, ""]


def _cell(items: Sequence[Tried]) -> str:
    sizes = sorted({item.size for item in items})
    least = next((s for s in sizes if share([t for t in items if t.size >= s], SEEN) >= 0.9), None)
    words = "–" if least is None else f"{least:.2g}"
    return f"{words} ({share(items, SEEN):.0%})" if items else ""


def _clean(items: Sequence[Tried]) -> str:
    undecided = share(items, UNDECIDED)
    return f"{share(items, SEEN):.0%}" + (f", undecided {undecided:.0%}" if undecided else "")


def draw(tried: Sequence[Tried], path: Path) -> None:
    """Draw the share of faults seen over their size, a picture for each type and a line for each judge."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.2), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.subplots(1, len(BACKENDS), sharey=True)
    for axis, kind in zip(axes, BACKENDS, strict=True):
        for judge, marker in zip(JUDGES, "osD^", strict=True):
            points = defaultdict(list)
            for item in tried:
                if (item.type, item.judge) == (kind, judge) and item.size and item.moved:
                    points[item.size].append(item)
            sizes = sorted(points)
            axis.plot(sizes, [100 * share(points[size], SEEN) for size in sizes], marker=marker, label=judge)
        axis.set_xscale("log", base=2)
        axis.set_title(kind)
        axis.set_xlabel("size of the fault")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("seen, %")
    axes[0].set_ylim(-3, 103)
    axes[-1].legend(fontsize="small", loc="lower right")
    figure.savefig(path, metadata={"Date": None})


def main() -> int:
    """Try all, write the table, the figures and the picture."""
    parser = argparse.ArgumentParser(prog="python -m truth.detection", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--each", type=int, default=3, help="models for each kind, size and type")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for how long at most")
    parser.add_argument("--again", action="store_true", help="forget what was tried before")
    asked = parser.parse_args()
    begun, tried = time.monotonic(), []
    todo = jobs(asked.each, asked.seed)
    for count, made in enumerate(each(try_out, todo, Kept(KEPT, again=asked.again), asked.processes), 1):
        tried += made
        if count % 50 == 0:
            print(f"{count} of {len(todo)}, {time.monotonic() - begun:.0f} s", flush=True)
        if time.monotonic() - begun > asked.seconds:
            break
    text = page(tried)
    print(text)
    (HERE / "detection.md").write_text(text, encoding="utf-8")
    (HERE / "detection.json").write_text(json.dumps([asdict(item) for item in tried]), encoding="utf-8")
    draw(tried, PICTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
