"""A case: one command over one model with one set of settings."""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Expected:
    """A failure that is known.

    Attributes:
        reason: Reason for the failure.
        verdict: Expected verdict: `failed`, `undecided`, `blind`, `error`, or any of them where empty.
        until: The last day on which it is; None for ever.
    """

    reason: str
    verdict: str = ""
    until: datetime.date | None = None

    def counts(self, today: datetime.date) -> bool:
        """Return whether it is still expected."""
        return self.until is None or today <= self.until


@dataclass(frozen=True)
class Case:
    """A case.

    Attributes:
        id: Name of the case, unique in the suite.
        command: The command's words: `run`.
        words: The words of the command line after `polycmp`, without reports.
        model: The model as the suite names it.
        backends: The labels of the backends.
        axes: The settings that the matrix chose, as text.
        tags: Tags of the case.
        needs: Requirements on the machine.
        files: The files that it reads, relative to the suite's folder; some may be missing yet.
        written: The files and folders that it writes, relative to the suite's folder.
        series: Name without the release, of cases that differ in the release of a backend's runtime alone; else empty.
        environments: The environments that are made for it, as pairs of backend and release.
        versions: Names and versions of what its backends are made of, in this environment and in others.
        timeout: Seconds after which it is ended; 0 for never.
        locate: Seconds that the search for the first wrong tensor may take when it differs; 0 for no search.
        locating: Words of the command line of that search.
        has_baseline: Whether its outputs can be compared with those of its last pass: a `run` that saves none itself.
        comparing: Words of the command line that compares such outputs, with the case's tolerances.
        retries: Number of further attempts after it could not be compared.
        memory: Bytes that it may take; 0 for no limit.
        gpus: GPUs that it takes.
        resources: Further resources that it takes, by name.
        expected: The failure that is known, if there is one.
        names_code: Whether it runs code beside polycmp and its plugins: scripts, libraries, other interpreters.
        line: Line of the case in the suite file.
    """

    id: str
    command: str
    words: tuple[str, ...]
    model: str = ""
    backends: tuple[str, ...] = ()
    axes: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    series: str = ""
    environments: tuple[tuple[str, str], ...] = ()
    versions: tuple[str, ...] = ()
    timeout: float = 0.0
    locate: float = 0.0
    locating: tuple[str, ...] = ()
    has_baseline: bool = False
    comparing: tuple[str, ...] = ()
    retries: int = 0
    memory: int = 0
    gpus: int = 0
    resources: Mapping[str, float] = field(default_factory=dict)
    expected: Expected | None = None
    names_code: bool = True
    line: int = 0

    @property
    def folder(self) -> str:
        """The name of its folder among the results: readable, and unlike every other."""
        digest = hashlib.sha256(self.id.encode("utf-8", "backslashreplace")).hexdigest()[:10]
        return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', self.id).strip('-.')[:60]}-{digest}"


@dataclass(frozen=True)
class Suite:
    """A suite.

    Attributes:
        name: Name of the suite.
        path: The file.
        folder: The absolute path of the folder in which the file lies, and in which commands are started.
        cases: The cases, in the order of the file.
    """

    name: str
    path: str
    folder: str
    cases: tuple[Case, ...]
