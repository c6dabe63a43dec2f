"""Files that converters make, good and with a planted fault: `python -m truth.converters`.

    python -m truth.converters [--only REGEX] [--models REGEX] [--no-faults] [--output FILE]

Every producer converts every network in a folder under .cache/converters; those that need packages of their own do so
in an environment of their own, and are left out where that cannot be made. What is true of each file is established
with ONNX Runtime alone (`measuring.py`). The exit status is 0 if no good file is accused and every fault that shows is
named.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from truth.converters.architectures import ARCHITECTURES
from truth.converters.faults import faults_of
from truth.converters.making import target_of
from truth.converters.measuring import RUINED, defect, is_visible, noise, outputs
from truth.converters.producers import PRODUCERS, Producer
from truth.converters.trained import trained
from truth.judge import run_words

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOLDER = ROOT / ".cache" / "converters"
GOOD, ACCUSED, NO_ANSWER, RUINED_FILE, NOT_MADE = "good", "accused", "no answer", "ruined", "not made"
NAMED, ELSEWHERE, MISSED = "named", "named elsewhere", "missed"

_ABOUT = """# Files that converters make

`python -m truth.converters` writes this table: what `polycmp locate` says of files that tools made of small networks
with random weights and of trained files ({networks} together), each beside its source in ONNX Runtime, and of the same
files with one planted fault (a scale or weight x 1.3, a bias dropped, a zero point off by a fifth of the range). A file
counts as ruined where its outputs have noise of more than half of the signal, a bias is clipped at the end of int32, or
a scale has to cover a mask: that is so by the runtime and the file alone. A fault counts where it makes four times the
noise of the file without it, and a tenth of the signal.

| producer | not accused | **accused** | no answer | ruined | not made | faults named | elsewhere | **missed** |
|---|---|---|---|---|---|---|---|---|"""


@dataclass
class Count:
    """What became of one producer's files.

    Attributes:
        grades: How many files, or faults, ended how.
        told: What is not right, in words.
    """

    grades: dict[str, int] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    def add(self, grade: str, what: str = "") -> None:
        """Count one."""
        self.grades[grade] = self.grades.get(grade, 0) + 1
        if what:
            self.told.append(f"{grade}: {what}")
            print(f"{grade}: {what}", flush=True)


def environment(requires: str) -> tuple[str, str]:
    """Return the Python that has what a producer requires, and why there is none; installs it where it is missing.

    Args:
        requires: The name of the list of packages; empty for this environment.
    """
    if not requires:
        return sys.executable, ""
    folder = FOLDER / "environments" / requires
    python, stamp = folder / "bin" / "python", folder / "installed"
    wanted = HERE / "requirements" / f"{requires}.txt"
    if stamp.exists() and stamp.read_text("utf-8") == wanted.read_text("utf-8"):
        return str(python), ""
    venv.create(folder, with_pip=False)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    around = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "around.pth").write_text("\n".join(around), "utf-8")
    words = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python), "install", "-q"]
    try:
        done = subprocess.run([*words, "-r", str(wanted)], capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return "", "installing took too long"
    if done.returncode:
        return "", (done.stderr.strip().splitlines() or ["pip failed"])[-1][:200]
    stamp.write_text(wanted.read_text("utf-8"), "utf-8")
    return str(python), ""


def convert(producer: Producer, folders: Sequence[Path]) -> str:
    """Have a producer convert the models of some folders; return why it could not even begin.

    Args:
        producer: The producer.
        folders: The folders.
    """
    python, why = environment(producer.requires)
    if why:
        return why
    words = [python, "-m", "truth.converters.making", producer.name, *map(str, folders)]
    subprocess.run(words, cwd=ROOT, capture_output=True, timeout=1200, check=False)
    return ""


def write(chosen: str) -> list[Path]:
    """Write the networks and their inputs, and return their folders.

    Args:
        chosen: Pattern of names.
    """
    folders = []
    for name, make in {**ARCHITECTURES, **trained()}.items():
        if not re.search(chosen, name):
            continue
        folder = FOLDER / re.sub(r"\W+", "-", name)
        if not (folder / "x.npz").exists():
            net = make()
            net.write(folder)
        folders.append(folder)
    return folders


def located(made: Path, source: Path, report: Path) -> tuple[int, Mapping[str, Any], str]:
    """Return exit status, document and text of `polycmp locate` with a made file and its source."""
    words = [
        "locate", str(made), "-b", "onnxrt:name=made", "-b", f"onnxrt:name=source,model={source}",
        "--load-inputs", str(source.with_name("x.npz")),
    ]  # fmt: skip
    said = run_words(words, report)
    return said.exit, said.document, said.text


def check(producer: Producer, folder: Path, count: Count, *, faults: bool) -> None:
    """Judge one file, and the same with faults.

    Args:
        producer: Who made it.
        folder: Of the network.
        count: Where to count.
        faults: Whether to plant any.
    """
    source, made = folder / "model.onnx", target_of(folder, producer.name)
    what = f"{producer.name} x {folder.name}"
    if not made.exists():
        count.add(NOT_MADE)
        return
    with np.load(folder / "x.npz") as held:
        feed = dict(held)
    try:
        expected = outputs(source, feed)
        apart = noise(outputs(made, feed), expected)
        model = onnx.load(made)
    except Exception:  # noqa: BLE001  a file that the runtime cannot load is none to judge
        count.add(NOT_MADE)
        return
    wrong = defect(model)
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "found.json"
        status, document, text = located(made, source, report)
        sentence = " ".join(str(document.get("sentence") or text[-300:]).split())
        if apart > RUINED or wrong:
            count.add(RUINED_FILE)
        elif status == 0:
            count.add(GOOD)
        else:
            count.add(ACCUSED if status == 1 else NO_ANSWER, f"{what} (noise {apart:.2g}): {sentence}")
        if not faults or status or wrong or apart > RUINED:
            return
        for fault in faults_of(model):
            spoilt = Path(scratch) / "spoilt.onnx"
            onnx.save(fault.model, spoilt)
            try:
                seen = noise(outputs(spoilt, feed), expected)
            except Exception:  # noqa: BLE001
                continue
            if not is_visible(seen, apart):
                continue
            status, document, text = located(spoilt, source, report)
            name = (document.get("operator") or {}).get("name", "")
            grade = MISSED if status != 1 else NAMED if name in fault.named else ELSEWHERE
            sentence = " ".join(str(document.get("sentence") or text[-300:]).split())
            said = f"{what}, {fault.name} (noise {seen:.2g} instead of {apart:.2g}): {sentence}"
            count.add(grade, "" if grade == NAMED else f"{said} [{', '.join(sorted(fault.named))}]")


def page(counts: Mapping[str, Count], left_out: Mapping[str, str], networks: int) -> Iterator[str]:
    """Yield the lines of the table."""
    yield _ABOUT.format(networks=networks)
    total = Count()
    columns = (GOOD, ACCUSED, NO_ANSWER, RUINED_FILE, NOT_MADE, NAMED, ELSEWHERE, MISSED)
    for name, count in counts.items():
        yield f"| {name} | " + " | ".join(str(count.grades.get(column, 0)) for column in columns) + " |"
        for column in columns:
            total.grades[column] = total.grades.get(column, 0) + count.grades.get(column, 0)
    yield "| all | " + " | ".join(str(total.grades.get(column, 0)) for column in columns) + " |"
    if left_out:
        yield ""
        yield "Left out: " + "; ".join(f"{name} ({why})" for name, why in left_out.items()) + "."


def main() -> int:
    """Convert, judge, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--models", default="")
    parser.add_argument("--no-faults", action="store_true")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    folders = write(given.models)
    counts: dict[str, Count] = {}
    left_out: dict[str, str] = {}
    for producer in PRODUCERS:
        if not re.search(given.only, producer.name):
            continue
        why = convert(producer, folders)
        if why:
            left_out[producer.name] = why
            continue
        count = counts[producer.name] = Count()
        for folder in folders:
            check(producer, folder, count, faults=not given.no_faults)
        print(producer.name, count.grades, flush=True)
    if given.output:
        given.output.write_text("\n".join(page(counts, left_out, len(folders))) + "\n", "utf-8")
    wrong = (ACCUSED, NO_ANSWER, MISSED, ELSEWHERE)
    return int(any(count.grades.get(grade) for count in counts.values() for grade in wrong))


if __name__ == "__main__":
    sys.exit(main())
