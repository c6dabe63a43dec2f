"""A tolerance profile: what one output of one model may differ by, as a file."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from polycmp.errors import FileError, describe_exception
from polycmp.files import atomic_write, digest_of, located
from polycmp.model import Model

#: The form of the file.
_FORMAT = 1
_HEAD = "# Tolerances of one model, measured by polycmp calibrate. Use: polycmp run MODEL … --tolerance FILE\n\n"


@dataclass(frozen=True)
class Limit:
    """Limits of an output's error: an element fails if it exceeds both.

    Attributes:
        abs: The absolute tolerance; 0 where only what is equal passes, or none could be measured.
        rel: The relative tolerance.
        comparisons: Number of comparisons that it was measured in.
        largest: The largest error in any of them.
        cannot_tell: Reason why a difference within the limit proves nothing; empty if it does.
    """

    abs: float
    rel: float
    comparisons: int
    largest: float
    cannot_tell: str = ""


@dataclass(frozen=True)
class Profile:
    """The limits of all outputs of one model.

    Attributes:
        model: Name of the model's file.
        sha256: Digest of the model's files.
        backends: The backends that it was measured with, each with its version, by label.
        inputs: Shapes of the inputs that it was measured with.
        outputs: The limit of each output.
    """

    model: str
    sha256: str
    backends: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    outputs: Mapping[str, Limit] = field(default_factory=dict)

    def write(self, path: str) -> None:
        """Write the profile into a file.

        Raises:
            FileError: It cannot be written.
        """
        import tomli_w  # a run without a profile does without

        inputs = {name: list(shape) for name, shape in self.inputs.items()}
        outputs = {name: asdict(limit) for name, limit in self.outputs.items()}
        content = {"format": _FORMAT, **asdict(self), "inputs": inputs, "outputs": outputs}
        with atomic_write(path) as file:
            file.write((_HEAD + tomli_w.dumps(content)).encode())


def read_profile(path: str) -> Profile:
    """Read a profile.

    Raises:
        FileError: There is no such file, or it is no profile.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        content = tomllib.loads(located(path).read_text("utf-8"))
        if content["format"] != _FORMAT:
            raise ValueError(f"its format is {content['format']}, and this polycmp reads format {_FORMAT}")
        return Profile(
            str(content["model"]),
            str(content["sha256"]),
            {name: str(version) for name, version in content["backends"].items()},
            {name: tuple(map(int, shape)) for name, shape in content["inputs"].items()},
            {name: _limit(name, item) for name, item in content["outputs"].items()},
        )
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        why = describe_exception(error)
    except KeyError as error:
        why = f"it has no {error.args[0]!r}"
    hint = f"polycmp calibrate MODEL -b BACKEND -b BACKEND -o {path}"
    raise FileError("cannot be read as a tolerance profile", whose=path, why=why, hint=hint)


def _limit(name: str, item: Mapping[str, Any]) -> Limit:
    limit = Limit(
        float(item["abs"]), float(item["rel"]), int(item["comparisons"]), float(item["largest"]),
        str(item["cannot_tell"]),
    )  # fmt: skip
    if not all(0.0 <= value < math.inf for value in (limit.abs, limit.rel)):
        raise ValueError(f"the limit of the output {name!r} is no tolerance: {limit.abs:g}, {limit.rel:g}")
    return limit


def model_digest(model: Model) -> str:
    """Return the SHA-256 of a model's files, those with its weights included; empty where they cannot be read.

    Raises:
        ModelError: The model's file cannot be read.
    """
    paths = sorted({Path(model.path), *map(Path, model.files())})
    try:
        parts = [part for path in paths for part in (sorted(path.rglob("*")) if path.is_dir() else [path])]
        return digest_of(*filter(Path.is_file, parts))
    except OSError:
        return ""
