"""Measures what the thresholds of `locate` stand against: errors of operators without a fault, in units of rounding.

    python -m truth.rounding [--only REGEX] [--output FILE] [FILE.onnx ...]

ONNX Runtime runs every operator alone on the tensors of the reference evaluator, and the reference evaluator on those
of ONNX Runtime. The small architectures and files are measured as they are, and those that hold only float32 converted
to float16, too; the reference evaluator takes many minutes for ResNet-50 in float16. A unit is what
`polycmp.precision.operator_rounding` lets one operator round: 2**-22 in float32, 2**-11 in float16. The table is
written to truth/rounding.md.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import onnx

from polycmp.layerwise import final_outputs, open_partitioned_runs
from polycmp.plan import from_values
from polycmp.plugins import Registry
from polycmp.precision import UNITS, operator_rounding
from polycmp.runs import make_functions, open_feeds, resolve
from polycmp_locate.measure import measure as operators
from polycmp_locate.setting import Setting
from polycmp_locate.sweep.sweep import open_way, sweep
from polycmp_locate.values.measured import Row
from polycmp_locate.values.swept import SweptRow
from truth.build import Net
from truth.models import ARCHITECTURES, lowbit, net_of
from truth.table import machine

HERE = Path(__file__).parent
FOLDER = HERE.parent / ".cache" / "rounding"
#: What is measured, by the words of the table's head.
ALONE, IN_PLACE = "operator alone", "operator in place"
WALK, JUMP = "tensor in the model / root of its place", "growth in one operator"
COLUMNS = (ALONE, IN_PLACE, WALK, JUMP)


@dataclass
class Figures:
    """The largest figures of one model.

    Attributes:
        model: What the model is.
        operators: How many tensors of real numbers were measured.
        largest: What was measured, to its largest value and the operator that makes it.
        failed: Why it could not be measured; empty if it was.
    """

    model: str
    operators: int = 0
    largest: dict[str, tuple[float, str]] = field(default_factory=dict)
    failed: str = ""

    def note(self, what: str, value: float, row: Row) -> None:
        """Keep a figure if it is the largest."""
        if math.isfinite(value) and value > self.largest.get(what, (0.0, ""))[0]:
            self.largest[what] = value, row.node.op_type


def _is_real(row: SweptRow, position: int) -> bool:
    """Return whether an operator makes real numbers that differ, however little."""
    del position
    return bool(row.unit) and row.relative > 0.0


def measure(model: str, path: Path, inputs: Path | None) -> Figures:
    """Return the figures of one file.

    Args:
        model: What the model is.
        path: The file.
        inputs: Arrays for it; None for those that polycmp draws.
    """
    registry = Registry.discover()
    values = {"model": str(path), "backend": ["onnxrt", "onnx"]}
    plan = from_values({**values, "load-inputs": [str(inputs)]} if inputs else values, registry)
    resolved = resolve(plan, registry)
    candidate, reference = open_partitioned_runs(resolved)
    feed = next(iter(open_feeds(resolved.source, reference.graph.inputs)))
    for partitioned_run in (candidate, reference):
        if partitioned_run.run_whole(feed, final_outputs(partitioned_run.graph)) is None:
            return Figures(model, failed=f"{partitioned_run.label} cannot run it")
    setting = Setting(candidate, reference, None, make_functions(plan.compare, registry), plan.max_memory)
    found = Figures(model)
    with open_way(setting, feed) as way:
        measured = operators.measure(sweep(way), setting, suspects=_is_real)
    for place, row in enumerate(measured.rows):
        if row.unit:
            found.operators += 1
            _note(found, row, place)
    return found


def _note(found: Figures, row: Row, place: int) -> None:
    unit = operator_rounding(row.unit)
    if row.standalone is not None:
        found.note(ALONE, row.standalone.relative / unit, row)
        found.note(IN_PLACE, (row.standalone.in_place or 0.0) / unit, row)
    found.note(WALK, row.relative / operator_rounding(max(row.unit, row.path_unit)) / math.sqrt(place + 1), row)
    if row.relative > unit:  # growth from nothing to less than one operator rounds is no growth
        found.note(JUMP, row.jump, row)


def models(files: Sequence[Path]) -> Iterator[tuple[str, Callable[[], tuple[Path, Path | None]]]]:
    """Yield what each model is, and what writes it and says where it and its inputs are."""
    for name in ARCHITECTURES:
        yield name, partial(_written, name, net_of(name))
        if _is_float32(net_of(name).model):
            yield f"{name}, float16", partial(_written, f"{name} half", lowbit.half(replace(net_of(name))))
    for path in files:
        yield path.name, partial(_as_it_is, path)
        yield f"{path.name}, float16", partial(_half_of, path)


def _written(name: str, net: Net) -> tuple[Path, Path]:
    folder = FOLDER / re.sub(r"\W+", "-", name)
    return net.write(folder), folder / "x.npz"


def _as_it_is(path: Path) -> tuple[Path, None]:
    return path, None


def _half_of(path: Path) -> tuple[Path, None]:
    model = onnx.load(path)
    del model.graph.value_info[:]  # it says float32
    names = {item.name: np.zeros(0) for item in model.graph.input}  # the inputs themselves are drawn
    return _written(f"{path.stem} half", lowbit.half(Net(model, names)))[0], None


def _is_float32(model: onnx.ModelProto) -> bool:
    kinds = {item.data_type for item in model.graph.initializer}
    types = [onnx.helper.tensor_dtype_to_np_dtype(kind) for kind in kinds]
    return not model.functions and {kind for kind in types if kind.kind not in "bi" or kind.itemsize < 4} == {
        np.dtype(np.float32)
    }


def page(found: Sequence[Figures]) -> str:
    """Return the table."""
    lines = [_line(["", "tensors", *COLUMNS]), _line(["---"] * (2 + len(COLUMNS)))]
    lines += [_line([item.model, item.operators, *_cells(item)]) for item in found]
    single, half = (operator_rounding(UNITS[kind]) for kind in ("float32", "float16"))
    return f"""# How far operators without a fault are from the reference

Written by `python -m truth.rounding`. {machine()}.

ONNX Runtime against the reference evaluator. The largest figure of each model with the operator that makes it; all but
the growth in units of what one operator may round ({single:.2g} of the largest value in float32,
{half:.2g} in float16).

{chr(10).join(lines)}
"""


def _cells(found: Figures) -> Iterator[str]:
    if found.failed:
        yield found.failed
        return
    for what in COLUMNS:
        value, operator = found.largest.get(what, (0.0, ""))
        yield f"{value:.2g} {operator}".strip()


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def main(words: Sequence[str]) -> int:
    """Measure, print and write the table."""
    parser = argparse.ArgumentParser(prog="python -m truth.rounding", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="files to measure beside the small architectures")
    parser.add_argument("--only", default="", help="only models whose name matches")
    parser.add_argument("--output", type=Path, default=HERE / "rounding.md", help="where the table goes")
    options = parser.parse_args(words)
    found = []
    for name, write in models(options.files):
        if re.search(options.only, name):
            found.append(measure(name, *write()))
            print(_line([name, found[-1].operators, *_cells(found[-1])]), flush=True)
            options.output.write_text(page(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
