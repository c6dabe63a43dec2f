"""Fake installed distributions: folders with a real `*.dist-info`, put on the path like any other site folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from in_process import logged, look_anew

from polycmp.cli.main import run as run_command
from polycmp.messages import restored_logging
from polycmp.plugins import Registry

CORE = "polycmp>=0.1.0.dev0,<0.2"
#: Modules that end their process when they are imported, and that print where messages go.
SEGFAULT = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"
LOUD = "import os\nprint('noise')\nos.write(1, b'{\"row\": 1}\\nmore noise')\nos.write(2, b'and here')\n"


class FakeSite:
    """A folder in which distributions are installed.

    Args:
        folder: The folder, which is made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def install(
        self,
        distribution: str,
        entry_points: Mapping[str, str],
        files: Mapping[str, str],
        *,
        version: str = "1.0",
        requires: Iterable[str] = (CORE,),
        group: str = "polycmp",
    ) -> None:
        """Install one distribution.

        Args:
            distribution: Its name.
            entry_points: Name to module.
            files: Path to source text, which may be indented.
            version: Its version.
            requires: Its `Requires-Dist` lines.
            group: The group of its entry points.
        """
        info = self.folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {distribution}", f"Version: {version}"]
        lines += [f"Requires-Dist: {line}" for line in requires]
        (info / "METADATA").write_text("\n".join(lines) + "\n")
        look_anew()
        points = "\n".join(f"{name} = {module}" for name, module in entry_points.items())
        (info / "entry_points.txt").write_text(f"[{group}]\n{points}\n")
        for path, text in files.items():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(textwrap.dedent(text))

    def plugin(self, name: str, source: str, **changes: object) -> None:
        """Install a distribution `fake-NAME` of one light module `fake_NAME`, under the entry point NAME."""
        distribution = f"fake-{name.replace('_', '-')}"
        self.install(distribution, {name: f"fake_{name}"}, {f"fake_{name}.py": source}, **changes)  # type: ignore[arg-type]

    def environ(self, **extra: str) -> dict[str, str]:
        """Return this process's environment with the folder on the path of Python programs."""
        path = os.pathsep.join(part for part in (str(self.folder), os.environ.get("PYTHONPATH", "")) if part)
        clean = {key: value for key, value in os.environ.items() if key != "POLYCMP_PLUGINS"}
        return {**clean, "PYTHONPATH": path, **extra}

    def polycmp(self, *args: object, cwd: Path | None = None, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run the command line with these distributions installed, in this process.

        What only shows in a process of its own, such as its death, is tried with `python("-m", "polycmp", …)`.
        """
        words = [str(word) for word in args]
        with self.installed_here(**extra) as patch, tempfile.TemporaryDirectory() as folder, restored_logging():
            patch.setattr(sys, "argv", ["polycmp", *words])
            if cwd is not None:
                patch.chdir(cwd)
            out, err = Path(folder, "out"), Path(folder, "err")
            with logged(out, err):
                status = run_command(words, Registry.discover())
            return subprocess.CompletedProcess(words, status, out.read_text("utf-8"), err.read_text("utf-8"))

    @contextmanager
    def installed_here(self, **extra: str) -> Iterator[pytest.MonkeyPatch]:
        """Let this process find these distributions, as one that was just started; their modules go afterwards.

        Args:
            extra: Further variables of the environment.
        """
        before = set(sys.modules)
        with ExitStack() as stack:
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            stack.callback(forget_modules, before, self.folder)
            patch.syspath_prepend(str(self.folder))
            patch.delenv("POLYCMP_PLUGINS", raising=False)
            for name, value in self.environ(**extra).items():
                patch.setenv(name, value)
            yield patch

    def python(self, *args: object, cwd: Path | None = None, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run Python with these distributions installed."""
        command = [sys.executable, *map(str, args)]
        return subprocess.run(
            command, env=self.environ(**extra), cwd=cwd, capture_output=True, text=True, timeout=120, check=False
        )


def forget_modules(before: set[str], folder: Path) -> None:
    """Let the modules in a folder be imported anew.

    Args:
        before: The modules that stay: those that were imported before.
        folder: The folder.
    """
    for name in sys.modules.keys() - before:
        spec = getattr(sys.modules[name], "__spec__", None)
        places = [*(spec.submodule_search_locations or ()), spec.origin or ""] if spec is not None else []
        if any(place.startswith(str(folder)) for place in places):
            del sys.modules[name]


def runner(
    name: str, *, options: str = "None", needs: str = "()", factory: str = "nowhere:make", tools: str = "''"
) -> str:
    """Return the source of a light module with one backend.

    Args:
        name: The backend.
        options: An expression for its options class; `O` stands for the fields given as `options="O: ..."`.
        needs: An expression for the modules it needs.
        factory: Where its factory is.
        tools: An expression for where the class of its tools is.
    """
    fields = ""
    if options.startswith("O:"):
        body = textwrap.indent(textwrap.dedent(options[2:]).strip(), "    ")
        fields, options = f"@dataclass(frozen=True)\nclass O:\n{body}\n", "O"
    return (
        "from dataclasses import dataclass\n"
        "from polycmp.spec import RunnerSpec, hookimpl, opt\n"
        f"{fields}"
        "@hookimpl\n"
        "def polycmp_runners():\n"
        f"    yield RunnerSpec({name!r}, 'A fake.', {factory!r}, options={options}, needs={needs}, tools={tools})\n"
    )


BROKEN: Mapping[str, str] = {
    "cannot_import": "import a_module_that_nobody_has",
    "exits": "raise SystemExit(7)",
    "raising_hook": """\
        from polycmp.spec import hookimpl

        @hookimpl
        def polycmp_runners():
            raise RuntimeError("boom in the hook")
        """,
    "unknown_hook": """\
        from polycmp.spec import hookimpl

        @hookimpl
        def polycmp_runnners():
            return []
        """,
    "too_new": "raise AssertionError('its version range forbids importing it')",
}
"""Five ways of being broken; `too_new` asks for a core version out of range."""

REASONS: Mapping[str, tuple[str, str]] = {
    "cannot_import": ("broken", "No module named 'a_module_that_nobody_has'"),
    "exits": ("broken", "SystemExit: 7"),
    "raising_hook": ("broken", "polycmp_runners raises RuntimeError: boom in the hook"),
    "unknown_hook": ("broken", "unknown hook 'polycmp_runnners'; did you mean 'polycmp_runners'"),
    "too_new": ("excluded", "needs polycmp>=99"),
}
"""The state each of them is in, and what its reason says."""


def install_broken(site: FakeSite) -> None:
    """Install all five."""
    for name, source in BROKEN.items():
        site.plugin(name, source, requires=["polycmp>=99" if name == "too_new" else CORE])
