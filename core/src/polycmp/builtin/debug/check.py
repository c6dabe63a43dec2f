"""The command that says whether a step passed."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from polycmp.builtin.debug.command_server import Server
from polycmp.builtin.debug.sections import CheckSection
from polycmp.errors import EXIT_USAGE, UsageError, describe_exception
from polycmp.terminal import echo

if TYPE_CHECKING:
    from polycmp.plugins import Registry

__all__ = ["AskingCheck", "Check", "Checked", "CommandCheck", "make_check"]

#: The program whose commands are run without starting it anew each time.
_SERVED = "polycmp"
#: Modules that its commands import before they look at a model.
_MODULES = (
    "polycmp.session.engine",
    "polycmp.compare.simple",
    "polycmp.data.shapes",
    "numpy.random",
    "polycmp.report.run_result",
)
#: Options with which a command compares with what was saved.
_COMPARING = ("--load-outputs", "--load-results")
#: Modules that this process needs at its end, too.
_SHARED = ("polycmp.report.console",)


@dataclass(frozen=True)
class Checked:
    """Result of checking one step.

    Attributes:
        passed: Whether the step passed.
        status: Exit status of the check; minus the number of the signal that ended it; None where the user was asked.
        output: Output of the check.
        seconds: Duration of the check in seconds.
    """

    passed: bool
    status: int | None
    output: str = ""
    seconds: float = 0.0


class Check(Protocol):
    """Judge of whether a step passed.

    Attributes:
        reads_in_place: Whether it is known to read what a step wrote where it lies, and to copy it nowhere.
        is_command: Whether it is a command, which can be run as often as it takes, and not a person.
    """

    @property
    def reads_in_place(self) -> bool:
        """See above."""

    @property
    def is_command(self) -> bool:
        """See above."""

    def start(self) -> None:
        """Prepare for the first run."""

    def run(self, *, quiet: bool = False) -> Checked:
        """Run it once.

        Args:
            quiet: Whether to show nothing of what it prints.
        """

    def close(self) -> None:
        """Let go what it holds."""


class CommandCheck:
    """Runs a command, without a shell.

    A `polycmp` command runs in a process that waits for the next one; every other command is started anew.

    Args:
        words: The command.
        section: Criteria of failure, and what is shown.
        registry: The plugins.

    Raises:
        UsageError: The options contradict each other, or an expression cannot be right.
    """

    def __init__(self, words: Sequence[str], section: CheckSection, registry: Registry) -> None:
        if section.fail_code and section.ignore_fail_code:
            raise UsageError("--fail-code and --ignore-fail-code exclude each other", hint="give one of them")
        self.words: list[str] = list(words)
        self._section = section
        self._patterns = [_pattern(text) for text in section.fail_regex]
        self._registry: Registry | None = registry
        self._modules = _modules(words, registry)
        self._server: Server | None = None

    is_command = True

    @property
    def reads_in_place(self) -> bool:
        """Whether the command is one of polycmp's own."""
        return self.words[0] == _SERVED

    def start(self) -> None:
        """Start the process of a `polycmp` command, which imports what it needs while the model is looked at here."""
        if self.words[0] == _SERVED and self._server is None:
            for name in _SHARED:
                import_module(name)
            self._server, self._registry = Server(self._modules, self._registry, self.words[1:]), None

    def run(self, *, quiet: bool = False) -> Checked:
        """Run the command once.

        Args:
            quiet: Whether to show nothing of what it prints.

        Raises:
            UsageError: It cannot be started, or is a `polycmp` command that cannot be right.
        """
        start = time.perf_counter()
        with tempfile.NamedTemporaryFile(prefix="polycmp-check-") as file:
            status = self._served(file.name) if self.words[0] == _SERVED else self._started(file.name)
            output = Path(file.name).read_bytes().decode(errors="replace")
        self._refuse_wrong_usage(status, output)
        checked = Checked(not self._fails(status, output), status, output, time.perf_counter() - start)
        shown = self._section.show_output or not (checked.passed or self._section.hide_fail_output)
        if shown and not quiet:
            echo(output.rstrip("\n"), err=True)
        return checked

    def close(self) -> None:
        """End the waiting process."""
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def _started(self, output: str) -> int:
        try:
            with Path(output).open("wb") as file:
                done = subprocess.run(
                    self.words, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, check=False
                )
        except OSError as error:
            raise UsageError(
                f"--check: cannot run {self.words[0]!r}", why=describe_exception(error), hint=f"which {self.words[0]}"
            ) from error
        return done.returncode

    def _served(self, output: str) -> int:
        self.start()
        assert self._server is not None
        status = self._server.run(self.words[1:], output)
        if status is None:
            status = self._server.close(died=True)
            self._server = None
        return status

    def _fails(self, status: int, output: str) -> bool:
        codes = self._section.fail_code
        if self._patterns:
            matches = any(pattern.search(output) for pattern in self._patterns)
            return matches and (not codes or status in codes)
        return status in codes if codes else status != 0 and status not in self._section.ignore_fail_code

    def _refuse_wrong_usage(self, status: int, output: str) -> None:
        known = {*self._section.fail_code, *self._section.ignore_fail_code}
        if self.words[0] == _SERVED and status == EXIT_USAGE and EXIT_USAGE not in known and not self._patterns:
            lines = [line for line in output.splitlines() if line.strip()]
            raise UsageError("--check: the command is used wrongly", why=" ".join(lines[:3]), hint=" ".join(self.words))


class AskingCheck:
    """Asks the user, who looks for himself."""

    reads_in_place = False
    is_command = False

    def start(self) -> None:
        """Do nothing."""

    def run(self, *, quiet: bool = False) -> Checked:
        """Ask until there is an answer."""
        while True:
            echo("Did this step pass? [p]ass or [f]ail: ", err=True)
            answer = sys.stdin.readline()
            if not answer:
                raise UsageError(
                    "no --check is given, and nobody answers whether the step passed",
                    hint="put --check COMMAND … last: --check polycmp run polycmp_debug.onnx -b onnxrt -b onnx",
                )
            if answer.strip().lower() in {"p", "pass", "f", "fail"}:
                return Checked(answer.strip().lower().startswith("p"), None)

    def close(self) -> None:
        """Do nothing."""


def make_check(words: Sequence[str], section: CheckSection, registry: Registry) -> Check:
    """Return the check that a command line asks for: its command, or the user.

    Raises:
        UsageError: The options contradict each other.
    """
    if words:
        return CommandCheck(words, section, registry)
    return AskingCheck()


def _modules(words: Sequence[str], registry: Registry) -> list[str]:
    """Return the modules that the backends in a command's words need, and those that read its model."""
    named = {word.removeprefix("--").partition(":")[0] for word in words}
    runners = [item.spec for name, item in registry.runners.items() if name in named]
    loaders = [item for item in registry.loaders.values() if any(map(item.spec.reads, words))]
    code = [*(item.spec.factory for item in loaders), *(spec.factory for spec in runners)]
    modules = [path.partition(":")[0] for path in code]
    if len(runners) > 1 or any(word.startswith(_COMPARING) for word in words):
        # Of outputs that differ it says why they may.
        modules += [name for _, tools in registry.equipped(loaders) for name in tools.graph_modules]
    return list(dict.fromkeys([*_SHARED, *_MODULES, *modules, *(module for spec in runners for module in spec.needs)]))


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise UsageError(f"--fail-regex: {text!r} is not a regular expression", why=str(error)) from error
