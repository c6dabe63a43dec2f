"""The form of a receipt: a statement of in-toto, version 1.

Subjects are the files that were run; the predicate says how, with what, and what came out. The specification is
in-toto's *Statement layer* (attestation framework, version 1).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from polycmp.errors import FileError
from polycmp.files import atomic_write, to_bytes
from polycmp.model import Model

_STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATE = "https://polycmp.github.io/polycmp/comparison/v1"
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Receipt:
    """A comparison and its result.

    Attributes:
        files: SHA-256 of each file of the models, by its path as it was given.
        run: The plan as a run file holds it.
        command: The command line as it was typed.
        inputs: SHA-256 of all inputs in their order.
        outputs: SHA-256 of all values of each output in their order, by the run's label and the output's name.
        verdicts: The verdict on each output, by the candidate's label and the output's name.
        verdict: The verdict on all.
        versions: What drives each run, with its version, by label.
        environment: Versions and machine.
    """

    files: Mapping[str, str]
    run: Mapping[str, Any]
    command: str
    inputs: str
    outputs: Mapping[str, Mapping[str, str]]
    verdicts: Mapping[str, Mapping[str, str]]
    verdict: str
    versions: Mapping[str, str]
    environment: Mapping[str, str]

    def save(self, path: str) -> None:
        """Write the statement.

        Raises:
            FileError: It cannot be written.
        """
        predicate = asdict(self)
        files = predicate.pop("files")
        statement = {
            "_type": _STATEMENT,
            "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in files.items()],
            "predicateType": _PREDICATE,
            "predicate": predicate,
        }
        with atomic_write(path) as file:
            file.write(to_bytes(json.dumps(statement, indent=1) + "\n"))


def load(path: str) -> Receipt:
    """Read a receipt.

    Raises:
        FileError: It cannot be read, or is none.
    """
    try:
        statement = json.loads(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise FileError("cannot be read as a receipt", whose=path, why=str(error)) from error
    if not isinstance(statement, dict) or statement.get("_type") != _STATEMENT:
        raise FileError("is no receipt", whose=path, why="it is no statement of in-toto", hint=_HOW)
    if statement.get("predicateType") != _PREDICATE:
        why = f"its predicate is {statement.get('predicateType')!r}"
        raise FileError("is no receipt of polycmp", whose=path, why=why, hint=_HOW)
    try:
        files = {item["name"]: item["digest"]["sha256"] for item in statement["subject"]}
        return Receipt(files=files, **statement["predicate"])
    except (KeyError, TypeError) as error:
        raise FileError("lacks what a receipt has", whose=path, why=str(error), hint=_HOW) from error


_HOW = "polycmp run MODEL -b CANDIDATE -b REFERENCE --receipt FILE writes one"


def digests_of(model: Model) -> dict[str, str]:
    """Return the SHA-256 of a model's files by path, those with its weights included.

    Raises:
        ModelError: The model's file cannot be read.
        FileError: One of its files cannot be read.
    """
    return {path: digest_of(path) for path in dict.fromkeys((model.path, *sorted(model.files())))}


def digest_of(path: str) -> str:
    """Return the SHA-256 of a file, or of all files in a folder with their names.

    Raises:
        FileError: It cannot be read.
    """
    total, place = hashlib.sha256(), Path(path)
    try:
        for part in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if place.is_dir():
                total.update(part.relative_to(place).as_posix().encode() + b"\0")
            if part == place or part.is_file():
                with part.open("rb") as file:
                    while block := file.read(_BLOCK):
                        total.update(block)
    except OSError as error:
        raise FileError("cannot be read", whose=path, why=str(error)) from error
    return total.hexdigest()
