"""The values of options that a command line, a run file, a case of a suite or a program gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from polycmp.options.declared import make_options
from polycmp.options.table import Key

T = TypeVar("T")


@dataclass(frozen=True)
class OptionValues:
    """Options as values, and the arguments beside them; all that a plan is made of.

    Attributes:
        values: The value of each option that was given.
        classes: The options dataclasses of the core's and the command's own sections, by owner.
        model: The model file; empty if none was named.
        backends: The instances: as typed, or tables as in a run file.
        wins: Per backend, values that override those of a table of `backends`.
        whose: Origin of the tables, for errors.
        command: The command line, for reports.
        sections: An instance of each section, by owner.

    Raises:
        UsageError: A section refuses its values.
    """

    values: Mapping[Key, Any] = field(default_factory=dict)
    classes: Mapping[str, type] = field(default_factory=dict)
    model: str = ""
    backends: tuple[str | Mapping[str, Any], ...] = ()
    wins: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    whose: str = ""
    command: str = ""
    sections: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        core_values = self.of_kind("core")
        instances = {
            owner: make_options(of, core_values.get(owner, {}), "polycmp run") for owner, of in self.classes.items()
        }
        object.__setattr__(self, "sections", instances)

    def of_kind(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the values of all options of one kind, by owner."""
        values: dict[str, dict[str, Any]] = {}
        for key, value in self.values.items():
            if key.kind == kind:
                values.setdefault(key.owner, {})[key.field] = value
        return values

    def of(self, kind: str, owner: str) -> dict[str, Any]:
        """Return the values of the options of one owner."""
        return self.of_kind(kind).get(owner, {})

    def section(self, options: type[T]) -> T:
        """Return the values of a section of the core or of the command, defaults included."""
        section: T = next(item for item in self.sections.values() if type(item) is options)
        return section

    def replaced(self, kind: str, owner: str, values: Mapping[str, Any]) -> OptionValues:
        """Return a copy with other values for the options of one owner."""
        kept = {key: value for key, value in self.values.items() if (key.kind, key.owner) != (kind, owner)}
        return replace(self, values=kept | {Key(kind, owner, name): value for name, value in values.items()})

    def over(self, file: OptionValues) -> OptionValues:
        """Merge these values over those of a run file; backends that were typed replace all of the file's."""
        merged = replace(self, values={**file.values, **self.values}, model=self.model or file.model)
        if self.backends:
            return merged
        return replace(merged, backends=file.backends, wins=self.of_kind("runner"), whose=file.whose)
