"""What a recorded program has left, as folders that `polycmp run --load-inputs` and `--load-outputs` read."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import FileError, describe_exception
from polycmp.files import atomic_write, digest_of, located, write_document
from polycmp.results.files import InputsWriter, OutputsWriter
from polycmp_record.startup.polycmp_record_hook.spool import DESCRIPTION, EVENTS

if TYPE_CHECKING:
    from polycmp.plugins import Registry

#: Where the folder of a model is made, in the one where its calls were kept.
_MADE = "made"
_LEVELS = {
    "ORT_DISABLE_ALL": "off",
    "ORT_ENABLE_BASIC": "basic",
    "ORT_ENABLE_EXTENDED": "extended",
    "ORT_ENABLE_LAYOUT": "layout",
}


@dataclass(frozen=True)
class Recorded:
    """The calls of one model.

    Attributes:
        folder: The folder with `inputs`, `outputs` and `model.json`.
        calls: Number of calls.
        facts: What is known of the model.
        all_outputs: Whether the program asked for all outputs.
    """

    folder: Path
    calls: int
    facts: Mapping[str, Any]
    all_outputs: bool

    @property
    def name(self) -> str:
        """The name of the model's file."""
        return Path(self.facts["model"]).name if self.facts["model"] else "a model without a file"

    def command(self) -> str:
        """Return the command that runs the model on what it was given, and compares with what came out."""
        words = ["polycmp", "run", self.facts["model"] or "MODEL", "-b", _spec(self.facts)]
        words += ["--load-inputs", str(self.folder / "inputs"), "--load-outputs", str(self.folder / "outputs")]
        if not self.all_outputs:  # the others would be missing on one side
            words += ["--onnx-outputs", *self.facts["outputs"]]
        return shlex.join(words)


def take_over(spool: Path, target: Path, registry: Registry) -> list[Recorded]:
    """Move what the processes of a program have kept into a folder for each model.

    A call is in the spool until it is in the folder, so what fails half-way goes on where it stopped.

    Args:
        spool: Where they kept it.
        target: Folder for the folders.
        registry: The plugins that bring the formats.

    Raises:
        FileError: A file cannot be written.
    """
    descriptions = sorted(spool.glob(f"*/{DESCRIPTION}"), key=lambda file: file.stat().st_mtime_ns)
    used_names = {path.name.lower() for path in located(target).iterdir()}
    recordings = (_take_model(file.parent, target, used_names, registry) for file in descriptions)
    return [item for item in recordings if item is not None]


def _take_model(source: Path, target: Path, used_names: set[str], registry: Registry) -> Recorded | None:
    """Move the calls of one model, unless there are none; the folder appears when it is whole."""
    facts = json.loads((source / DESCRIPTION).read_bytes())
    partial = source / _MADE
    calls = _convert(sorted(source.glob("*.npy")), facts, partial, registry)
    if not calls:
        return None
    place = target / _unused(_name_of(facts), used_names)
    every = facts["all_outputs"] in (None, facts["outputs"])
    recording = Recorded(place, calls, _described(facts, source.parent, partial, place), every)
    write_document(partial / "model.json", {**recording.facts, "calls": calls})
    partial.rename(located(place))
    return recording


def events(spool: Path, kind: str) -> list[str]:
    """Return what the processes of a program have noted: `LIBRARY`, `FAILURE` or `TOO_LARGE`."""
    path = spool / EVENTS
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [*dict.fromkeys(item[kind] for item in map(json.loads, lines) if kind in item)]


def _convert(files: list[Path], facts: Mapping[str, Any], place: Path, registry: Registry) -> int:
    """Write calls as iterations of inputs and outputs, remove the files that they were in, and return their number."""
    done = len([*(place / "outputs").glob("[0-9]*")])
    with (
        InputsWriter(place / "inputs", registry, lasting=False, first=done) as inputs,
        OutputsWriter(place / "outputs", registry, lasting=False, first=done) as outputs,
    ):
        for file in files:
            feed, values = _read(file, facts)
            inputs.add(feed)
            outputs.add(f"recorded {facts['library']}", values)
            file.unlink()
    return done + len(files)


def _read(file: Path, facts: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the inputs and outputs of a call.

    Raises:
        FileError: The file is damaged, as after a loss of power.
    """
    try:
        with file.open("rb") as stream:
            feed = {name: np.load(stream, allow_pickle=False) for name in facts["inputs"]}
            return feed, {name: np.load(stream, allow_pickle=False) for name in facts["outputs"]}
    except (ValueError, EOFError) as error:
        raise FileError(
            "a call that was kept is damaged", whose=str(file), why=describe_exception(error), hint=f"rm {file}"
        ) from error


def _described(facts: Mapping[str, Any], spool: Path, folder: Path, place: Path) -> dict[str, Any]:
    """Return what is worth keeping of a model, and keep its content if it was only in memory.

    Args:
        facts: What was noted of it.
        spool: Where its content was kept.
        folder: Folder to keep it in.
        place: What that folder will be.
    """
    model, digest = facts.get("path"), facts.get("content")
    if digest is not None and (spool / digest).is_file():
        suffix = ".tflite" if facts["backend"] == "tf" else ".onnx"
        model = str(place / f"model{suffix}")
        with atomic_write(folder / f"model{suffix}") as file:
            file.write((spool / digest).read_bytes())
    elif model is not None:
        with suppress(OSError):
            state = Path(model).stat()
            if (state.st_size, state.st_mtime_ns) == (facts["size"], facts["mtime_ns"]):
                digest = digest_of(Path(model))
    names = ("backend", "library", "options", "inputs", "outputs")
    return {"model": model, "sha256": digest, **{name: facts[name] for name in names}}


def _name_of(facts: Mapping[str, Any]) -> str:
    name = Path(facts["path"]).stem if "path" in facts else "model"
    return re.sub(r"[^\w.-]", "_", name).lstrip(".") or "model"


def _unused(name: str, used_names: set[str]) -> str:
    number = 1
    unused = name
    while unused.lower() in used_names:
        number += 1
        unused = f"{name}-{number}"
    used_names.add(unused.lower())
    return unused


def _spec(facts: Mapping[str, Any]) -> str:
    """Return the backend with the options that decide how it calculates."""
    options = facts["options"]
    words = []
    if facts["backend"] == "onnxrt":
        providers = [name.removesuffix("ExecutionProvider").lower() for name in options["providers"]]
        words += [f"providers=[{','.join(providers)}]"] if providers != ["cpu"] else []
        level = _LEVELS.get(options["graph_optimization_level"])
        words += [f"optimization={level}"] if level else []
        threads = options["intra_op_num_threads"]
        words += [f"threads={threads}"] if threads != "0" else []
    elif facts["backend"] == "openvino":
        words += [f"device={options['device']}"] if options["device"] not in {"AUTO", "CPU"} else []
        words += ["own_precision"] if options["precision"] != "f32" else []
    elif options["num_threads"]:
        words += [f"threads={options['num_threads']}"]
    return f"{facts['backend']}:{','.join(words)}" if words else facts["backend"]
