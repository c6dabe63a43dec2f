"""Settings from the tables of a suite file, one for each model and each choice from the matrix."""

from __future__ import annotations

import glob
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any

from polycmp.errors import UsageError
from polycmp.options import split_script
from polycmp_suite.suitefile.keys import SUITE_KEYS, SYNONYMS


@dataclass
class CaseSettings:
    """Settings of one case.

    Attributes:
        id: Name of the case.
        suite_values: Values of the suite's own keys.
        options: Values of the command's options, as a run file has them.
        axes: The settings that the matrix chose, as text.
        model: The model.
        has_choices: Whether its name ends in what the matrix chose.
        release: The release of the first backend's runtime; empty for the one that is installed.
        series: Name without the release, if there is one.
    """

    id: str
    suite_values: dict[str, Any]
    options: dict[str, Any]
    axes: dict[str, str] = field(default_factory=dict)
    model: str = ""
    has_choices: bool = False
    release: str = ""
    series: str = ""


def canonical(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table with each key under the name that the option has.

    Raises:
        UsageError: Two keys say the same.
    """
    table: dict[str, Any] = {}
    for key, value in values.items():
        name = SYNONYMS.get(key, key.replace("_", "-"))
        if name in table:
            raise UsageError(f"{key!r} repeats another key")
        table[name] = value
    return table


def models_of(texts: tuple[str, ...], folder: Path) -> list[str]:
    """Return the models that texts name; those with `*`, `?` or `[` are patterns.

    Raises:
        UsageError: A file is not there, or a pattern fits none.
    """
    models: list[str] = []
    for text in texts:
        if glob.has_magic(text) and not (folder / text).exists():
            matches = sorted(glob.glob(text, root_dir=folder, recursive=True))  # noqa: PTH207 - patterns may be absolute
            if not matches:
                raise UsageError(f"no file matches model = {text!r}")
            models += matches
        elif (folder / text).exists() or (folder / split_script(text, "")[0]).exists():
            models.append(text)
        else:
            raise UsageError(f"there is no model {text!r}")
    return list(dict.fromkeys(models))


def spread(suite_values: dict[str, Any], options: dict[str, Any], folder: Path) -> Iterator[CaseSettings]:
    """Yield the settings of every case that a table describes, each with every release that it names.

    Args:
        suite_values: Values of the suite's own keys, as they are in the file.
        options: Values of the command's options.
        folder: Folder that paths are relative to.

    Raises:
        UsageError: A model is missing, or the matrix is none.
    """
    releases = dict.fromkeys(
        SUITE_KEYS["releases"].read(suite_values["releases"]) if "releases" in suite_values else ()
    )
    for settings in _spread(suite_values, options, folder):
        if not releases:
            yield settings
        for release in releases:
            shown = f"release={release}"
            name = f"{settings.id[:-1]},{shown}]" if settings.has_choices else f"{settings.id}[{shown}]"
            yield replace(
                settings, id=name, axes={**settings.axes, "release": release}, release=release, series=settings.id
            )


def _spread(suite_values: dict[str, Any], options: dict[str, Any], folder: Path) -> Iterator[CaseSettings]:
    matrix = canonical(SUITE_KEYS["matrix"].read(suite_values.get("matrix", {})))
    axes = [[(key, *choice) for choice in _choices(key, values)] for key, values in matrix.items()]
    base = suite_values.get("model", options.get("model"))
    for choice in itertools.product(*axes):
        case_values, case_options = dict(suite_values), dict(options)
        for key, _, value in choice:
            (case_values if key in SUITE_KEYS else case_options)[key] = value
        labels = {key: label for key, label, _ in choice}
        model_value = case_values["model"] if "model" in labels else base
        patterns = SUITE_KEYS["model"].read(model_value) if base or "model" in labels else ()
        models = models_of(patterns, folder) or [""]
        shown = [
            label if key in {"backend", "command"} else f"{key}={label}"
            for key, label in labels.items()
            if key != "model"
        ]
        suffix = f"[{','.join(shown)}]" if shown else ""
        for model in models:
            name = _name(case_values, model, len(models) > 1 or "model" in labels) + suffix
            yield CaseSettings(name, case_values, case_options, labels, model, has_choices=bool(suffix))


def _name(suite_values: Mapping[str, Any], model: str, several: bool) -> str:
    stem = PurePath(split_script(model, "")[0]).with_suffix("").as_posix() if model else ""
    name = SUITE_KEYS["name"].read(suite_values["name"]) if "name" in suite_values else ""
    if not name:
        return stem or "case"
    return f"{name}/{stem}" if several else name


def _choices(key: str, values: Any) -> list[tuple[str, Any]]:
    """Return the choices of an axis with their labels."""
    if key == "releases":
        raise UsageError("a matrix has no axis 'releases'", why='beside it stands releases = ["1.20", "latest"]')
    if key in {"matrix", "name", "config"}:
        raise UsageError(f"a matrix has no axis {key!r}")
    if isinstance(values, Mapping) and values:
        return list(values.items())
    if not isinstance(values, list) or not values:
        raise UsageError(f"the axis {key!r} of a matrix is a list of values, or a table of them by label")
    return [(_label(value), value) for value in values]


def _label(value: Any) -> str:
    if isinstance(value, list):
        return "+".join(map(_label, value))
    if isinstance(value, Mapping):
        return str(
            value.get("name")
            or value.get("backend")
            or " ".join(f"{key}:{_label(item)}" for key, item in value.items())
        )
    return str(value).lower() if isinstance(value, bool) else str(value)
