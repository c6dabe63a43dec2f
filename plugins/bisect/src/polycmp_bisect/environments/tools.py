"""The tools that make environments: uv where it is installed, else venv and pip; with the configuration of pip."""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from polycmp.errors import PluginError
from polycmp.process import code_words, module_words
from polycmp.sentences import cut

#: Seconds that a download and installation may take.
_TIMEOUT = 1800.0
#: The lowest Python that polycmp runs on, and the highest that is looked for.
_PYTHONS = range(10, 20)


#: How the errors of pip, of uv and of Python begin, and the characters of one that are shown.
_ERRORS, _MAX_ERROR_LENGTH = ("error:", "× ", "importerror", "modulenotfounderror"), 300
#: What pip and uv say where an index, or the place of a file, does not answer.
_NO_ANSWER = (
    "connection broken", "error sending request", "max retries exceeded", "timed out", "connection reset",
    "connection aborted", "incompleteread", "temporary failure in name resolution",
)  # fmt: skip


@dataclass(frozen=True)
class Done:
    """A tool that has ended.

    Attributes:
        status: The exit status.
        text: Output of the tool, errors last.
    """

    status: int
    text: str

    @property
    def lacks_answers(self) -> bool:
        """Whether something on the network did not answer, so that the output is incomplete."""
        text = self.text.lower()
        return any(words in text for words in _NO_ANSWER)

    @property
    def last_line(self) -> str:
        """Reason why it failed: the last error with its further lines, else the last line."""
        lines = [" ".join(line.split()) for line in self.text.splitlines() if line.strip()]
        starts = [place for place, line in enumerate(lines) if line.lower().startswith(_ERRORS)]
        text = " ".join(lines[starts[-1] :]) if starts else lines[-1] if lines else f"exit status {self.status}"
        return cut(text, _MAX_ERROR_LENGTH)


def run_tool(words: Sequence[str], seconds: float = _TIMEOUT, folder: Path | None = None) -> Done:
    """Run a tool to its end and return its status and output.

    Args:
        words: The tool and its arguments.
        seconds: Seconds after which it is ended.
        folder: Folder in which it is started; by default that of this process.
    """
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=seconds, check=False,
            stdin=subprocess.DEVNULL, env=_environ(), cwd=folder,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Done(124, f"it took longer than {seconds:g} s")
    except OSError as error:
        return Done(127, str(error))
    return Done(done.returncode, done.stdout + done.stderr)


def _environ() -> dict[str, str]:
    """Return this process's environment without what would make another interpreter read this one's packages."""
    return {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "PYTHONHOME"}}


def find_uv() -> str:
    """Return the path of uv; empty if it is not installed."""
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.is_file() else shutil.which("uv") or ""


def pip_words() -> list[str]:
    """Return the words that start pip.

    Raises:
        PluginError: There is no pip.
    """
    if importlib.util.find_spec("pip") is not None:
        return [*module_words("pip"), "--disable-pip-version-check", "--no-input"]
    if uv := find_uv():
        return [uv, "tool", "run", "pip", "--disable-pip-version-check", "--no-input"]
    raise PluginError("there is no pip to ask for releases", hint=f"{sys.executable} -m ensurepip")


def this_python() -> str:
    """Return the version of this process's Python: "3.11"."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


@cache
def interpreters() -> dict[str, str]:
    """Return the interpreters of this machine that polycmp runs on by version ("3.11"), this one first."""
    interpreter_of = {this_python(): sys.executable}
    for minor in _PYTHONS:
        version = f"3.{minor}"
        if version not in interpreter_of and (path := _interpreter(version)):
            interpreter_of[version] = path
    return interpreter_of


def _interpreter(version: str) -> str:
    pyenv_pythons = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for path in (shutil.which(f"python{version}") or "", *(str(item) for item in pyenv_pythons[-1:])):
        code = "assert '%d.%d' % sys.version_info[:2] == sys.argv[1]; print(sys.executable)"
        if path and (done := run_tool([*code_words(code, python=path), version], 30)).status == 0:
            return done.text.split("\n")[0]
    return ""


class Installer:
    """Makes environments and installs into them.

    Args:
        uv: The path of uv; empty for venv and pip.
        find_links: Folders and pages with further packages, beside pip's own configuration.
    """

    def __init__(self, uv: str, find_links: Sequence[str] = ()) -> None:
        self._uv = uv
        self._find_links = [word for item in find_links for word in ("--find-links", _absolute(item))]

    def make(self, folder: Path, interpreter: str) -> Done:
        """Create an empty environment."""
        if self._uv:
            # uv takes the settings that lie in the current folder, package indexes too; this one is nobody else's.
            words = [self._uv, "venv", "--quiet", "--python", interpreter, str(folder)]
            return run_tool(words, folder=folder.parent)
        return run_tool([*module_words("venv", python=interpreter), "--without-pip", str(folder)])

    def install(
        self, folder: Path, requirements: Iterable[str], pins: Iterable[str] = (), *, alone: bool = False
    ) -> Done:
        """Install packages with what they need; those that would have to be compiled are not taken.

        Args:
            folder: The environment.
            requirements: Packages to install, with their versions.
            pins: Versions of other packages, where those are needed at all.
            alone: Whether what they need is left out.
        """
        python = folder / "bin" / "python"
        pins_file = folder / "pins.txt"
        pins_file.write_text("\n".join(pins), "utf-8")
        words = ["--only-binary", ":all:", "--constraint", str(pins_file), *self._find_links, *requirements]
        words = ["--no-deps", *words] if alone else words
        if self._uv:
            # As pip does: the best release of all indexes, instead of all releases of the first index that has any.
            options = ["--quiet", "--python", str(python), "--index-strategy", "unsafe-best-match", *pip_settings()]
            # What uv has kept of a folder is what lay there under the same name before.
            options += ["--refresh"] if self._find_links else []
            return run_tool([self._uv, "pip", "install", *options, *words], folder=folder.parent)
        return run_tool([*pip_words(), "--python", str(python), "install", "--quiet", "--no-compile", *words])

    def versions(self, package: str, python: str, *, pre: bool = False) -> list[str] | None:
        """Return the releases that can be installed on a version of Python, newest first.

        None if nobody answers, or one of several indexes does not: what the others have is not all there is.
        """
        options = ["--only-binary", ":all:", "--python-version", python, *(["--pre"] if pre else [])]
        done = run_tool([*pip_words(), "index", "versions", package, *options, *self._find_links], 120)
        listed = [line for line in done.text.splitlines() if line.startswith("Available versions:")]
        if not listed or done.lacks_answers:
            return None
        return [item.strip() for item in listed[0].partition(":")[2].split(",")]


def _absolute(place: str) -> str:
    """Return the absolute path of a folder; an address is returned unchanged."""
    return place if ":" in place else str(Path(place).absolute())


@cache
def pip_settings() -> tuple[str, ...]:
    """Return pip's configuration of package indexes as options of uv; none if uv has its own."""
    if any(key.startswith(("UV_INDEX", "UV_DEFAULT_INDEX", "UV_FIND_LINKS")) for key in os.environ):
        return ()
    settings: list[str] = []
    for line in run_tool([*pip_words(), "config", "list"], 60).text.splitlines():
        name, equals, text = line.partition("=")
        option = name.rpartition(".")[2]
        if not equals or option not in {"index-url", "extra-index-url", "find-links", "no-index"}:
            continue
        value = str(ast.literal_eval(text))
        if option == "no-index":
            settings += ["--no-index"] if value.lower() in {"1", "true", "yes", "on"} else []
        else:
            items = map(_absolute, value.split()) if option == "find-links" else value.split()
            settings += [word for item in items for word in (f"--{option}", item)]
    return tuple(settings)
