"""Bundle of a case that can be posted: the user's names, texts and numbers are replaced if the fault survives that."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

from polycmp.errors import EXIT_DIFFERENT, EXIT_OK, ModelError, PolycmpError
from polycmp.files import atomic_write, to_bytes
from polycmp.options import split_script
from polycmp.plugins import Registry
from polycmp.results import describe_environment
from polycmp.results.files import InputsWriter, OutputsWriter, open_inputs, open_runs
from polycmp_locate.reduce.case import EXPECTED, INPUTS, SCRIPT, Reproduction, run_in

ENVIRONMENT = "environment.json"
#: Packages that a fault may come from, besides those that `describe_environment` names.
_PACKAGES = re.compile(r"polycmp|onnx|torch$|tensorrt|openvino$|tensorflow$|ml.dtypes|protobuf", re.IGNORECASE)
#: Words in which a name of the model may stand, and what separates it from the rest.
_SEPARATORS = re.compile(r"([:=,\[\]])")
#: The part of a backend's words that gives it a name of the user's.
_LABEL = re.compile(r"""(?:[:,\[])name=("[^"]*"|'[^']*'|[^,\]]+)""")
_BACKENDS = frozenset({"-b", "--backend"})


@dataclass(frozen=True)
class Redaction:
    """Content to remove from a case.

    Attributes:
        names: Names and texts in the model.
        weights: The values of its weights.
        inputs: The values that it is fed with.
    """

    names: bool = True
    weights: bool = True
    inputs: bool = True

    @property
    def new_values(self) -> bool:
        """Whether values of the model or its inputs are replaced."""
        return self.weights or self.inputs


@dataclass
class Bundle:
    """Description of a bundle.

    Attributes:
        change: Content that was removed.
        counts: Numbers of names, weights and texts that were replaced.
        remaining: Descriptions of content of the user's that remains in the model.
        attached: Files from elsewhere that the command needs, which a person should look through.
        verified: Checks of the model that passed, in a few words each.
    """

    change: Redaction
    counts: dict[str, int] = field(default_factory=dict)
    remaining: list[str] = field(default_factory=list)
    attached: list[str] = field(default_factory=list)
    verified: tuple[str, ...] = ()


def bundle(folder: Path, target: Path, change: Redaction, seed: int = 0) -> Bundle:
    """Zip a case so that it shows the fault wherever it is unpacked.

    Args:
        folder: The case.
        target: The zip file.
        change: Content to remove; as much of it as the fault survives.
        seed: For the numbers that take the place of weights and inputs.

    Raises:
        FileError: There is no case, or the file cannot be written.
        ModelError: It has no ONNX model.
        PolycmpError: It does not show its fault here.
    """
    case = Reproduction.read(folder)
    model = next((word for word in case.words if word.endswith(".onnx") and (folder / word).is_file()), "")
    if not model:
        raise ModelError("runs no ONNX model that lies in it", whose=str(folder))
    if not case.shows_the_fault(folder):
        raise PolycmpError(
            f"the case in {folder} does not show its fault here",
            why="so nothing could be checked",
            hint=f"sh {folder / SCRIPT}",
        )
    why = "even without changes, so something outside the folder belongs to it"
    with tempfile.TemporaryDirectory(prefix="polycmp-bundle-") as room:
        for number, attempt in enumerate(_ever_less(change, has_inputs=(folder / INPUTS).is_file())):
            place = Path(room, str(number))
            try:
                result = _Builder(case, folder, model, place, attempt, seed).build()
            except _SpoiledError as error:
                why = str(error)
                continue
            if result is not None:
                _zip(place, target)
                return result
    raise PolycmpError(
        f"no copy of {folder} shows the fault",
        why=why,
    )


def _ever_less(change: Redaction, *, has_inputs: bool) -> Iterator[Redaction]:
    """Yield choices of content to remove: first all that was asked for, nothing last."""
    change = replace(change, inputs=change.inputs and has_inputs)
    yield from dict.fromkeys(
        Redaction(change.names and names, change.weights and weights, change.inputs and inputs)
        for names in (True, False)
        for weights, inputs in ((True, True), (True, False), (False, True), (False, False))
    )


class _SpoiledError(Exception):
    """The model with replaced content is not as good as the original."""


class _Builder:
    def __init__(self, case: Reproduction, folder: Path, model: str, place: Path, change: Redaction, seed: int) -> None:
        self.case, self.folder, self.model, self.place = case, folder, model, place
        self.change, self.seed = change, seed
        self.bundle = Bundle(change)
        self.labels = _labels([*case.words, *case.remake]) if change.names else {}
        self.texts: dict[str, str] = {}

    def build(self) -> Bundle | None:
        """Build the bundle; None if it does not show the fault.

        Raises:
            _SpoiledError: The model with the changes is not as good as the original.
        """
        if self.change.new_values and (self.folder / EXPECTED).is_file() and not self.case.remake:
            return None
        self.place.mkdir()
        names = self._write_model()
        self._write_inputs(names)
        words, remake = self._words(self.case.words, names), self._words(self.case.remake, names)
        if not self._write_expected(names, remake):
            return None
        case = Reproduction(words, self.case.status, _sentence(self.case, self.change), "", remake)
        case.write(self.place)
        (self.place / ENVIRONMENT).write_bytes(to_bytes(json.dumps(environment(), indent=2)))
        programs = str(Path(self.case.words[0]).parent) if Path(self.case.words[0]).is_absolute() else ""
        return self.bundle if case.shows_the_fault(self.place, programs) else None

    def _write_model(self) -> Mapping[str, str]:
        import numpy as np

        from polycmp_onnx import left_as_it_is, onnx_from_path, redraw_weights, save_part, scrub_names, scrub_texts

        original = str(self.folder / self.model)
        model, names = onnx_from_path(original), dict[str, str]()
        if self.change.weights:
            self.bundle.counts["weights"] = redraw_weights(model, np.random.default_rng(self.seed))
            self.texts = scrub_texts(model)
            self.bundle.counts["texts"] = len(self.texts)
        if self.change.names:
            names = scrub_names(model)
            self.bundle.counts["names"] = len(names)
        if self.change.names and self.change.weights:
            self.bundle.remaining = left_as_it_is(model)
        try:
            self.bundle.verified = save_part(
                lambda: model,
                str(self.place / self.model),
                original=lambda: onnx_from_path(original),
                registry=Registry.discover(),
            )
        except ModelError as error:
            raise _SpoiledError(error.why or error.what) from error
        return names

    def _write_inputs(self, names: Mapping[str, str]) -> None:
        import numpy as np

        from polycmp_onnx import redraw, replace_texts

        if not (self.folder / INPUTS).is_file():
            return
        generator = np.random.default_rng(self.seed + 1)
        with InputsWriter(str(self.place / INPUTS)) as writer:
            for feed in open_inputs([self.folder / INPUTS]):
                arrays = {name: np.asarray(value) for name, value in feed.items()}
                if self.change.inputs:
                    arrays = {
                        name: replace_texts(redraw(value, generator), self.texts) for name, value in arrays.items()
                    }
                writer.add({names.get(name, name): value for name, value in arrays.items()})

    def _write_expected(self, names: Mapping[str, str], remake: Sequence[str]) -> bool:
        """Write the reference's outputs; return whether they could be computed."""
        if not (self.folder / EXPECTED).is_file():
            return True
        if self.change.new_values:
            return run_in(self.place, remake) == EXIT_OK and (self.place / EXPECTED).is_file()
        with OutputsWriter(str(self.place / EXPECTED)) as writer:
            for run in open_runs(self.folder / EXPECTED):
                for result in run.iterations:
                    label = self.labels.get(run.label, run.label if not self.change.names else "reference")
                    writer.add(label, {names.get(name, name): result[name] for name in result}, 0.0)
        return True

    def _words(self, words: Sequence[str], names: Mapping[str, str]) -> list[str]:
        """Return a command with the new names; files from elsewhere are copied beside it."""
        backends = [index + 1 for index, word in enumerate(words) if word in _BACKENDS]
        names = {**names, **self.labels}
        replaced = [self._word(word, names, index in backends) for index, word in enumerate(words)]
        return [Path(word).name if index == 0 else word for index, word in enumerate(replaced)]

    def _word(self, word: str, names: Mapping[str, str], is_backend: bool) -> str:
        if word in {self.model, INPUTS, EXPECTED} or re.fullmatch(r"-.[^=]*|--[^=]*", word):
            return word
        parts = _SEPARATORS.split(word)
        for index, part in enumerate(parts):
            if Path(part).is_absolute():
                parts[index] = self._attach(part)
        first, rest = (parts[:1], parts[1:]) if is_backend else ([], parts)
        return "".join([*first, *self._longest(rest, names)])

    def _longest(self, parts: list[str], names: Mapping[str, str]) -> Iterator[str]:
        """Yield the parts; those that are a name together are joined, since names may hold separators."""
        index = 0
        while index < len(parts):
            ends = range(len(parts), index, -1)
            end = next((end for end in ends if "".join(parts[index:end]) in names), None)
            yield parts[index] if end is None else names["".join(parts[index:end])]
            index = index + 1 if end is None else end

    def _attach(self, text: str) -> str:
        """Copy a file of the user's into the folder; return its name in the command."""
        path, _ = split_script(text, "")
        source = Path(path or text)
        if not source.is_file() or (os.access(source, os.X_OK) and source.suffix not in {".py", ".sh"}):
            return source.name  # a program, which everybody has elsewhere
        shutil.copyfile(source, self.place / source.name)
        if source.name not in self.bundle.attached:
            self.bundle.attached.append(source.name)
        return source.name


def _labels(words: Sequence[str]) -> dict[str, str]:
    """Return new names of backends by the user's names, in commands and in saved outputs."""
    specs = [word for previous, word in pairwise(words) if previous in _BACKENDS]
    labels = dict.fromkeys(name for spec in specs for name in _LABEL.findall(spec))
    return {name.strip("\"'"): f"backend{number}" for number, name in enumerate(labels)}


def environment() -> dict[str, Any]:
    """Return the facts that a fault may depend on: versions, platform and processor; nothing that names a person."""
    packages = {
        item.metadata["Name"]: item.version
        for item in metadata.distributions()
        if _PACKAGES.match(item.metadata["Name"] or "")
    }
    return {**describe_environment(), "packages": dict(sorted(packages.items()))}


def _sentence(case: Reproduction, change: Redaction) -> str:
    """Describe the fault; the search's sentence may name tensors that were renamed."""
    if not change.names:
        return case.sentence
    differs = case.status == EXIT_DIFFERENT
    return "The outputs of a backend are not the expected ones" if differs else "The command below fails"


def _zip(place: Path, target: Path) -> None:
    """Zip a folder's files in a fixed order and with fixed dates."""
    with atomic_write(str(target)) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(item for item in place.iterdir() if item.is_file()):
            entry = zipfile.ZipInfo(f"{target.stem}/{path.name}")
            entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as inside, path.open("rb") as source:
                shutil.copyfileobj(source, inside)
