"""Child processes that are copies of the tests' process: what an interpreter takes a second to import is there at once.

Only workers, trials of models and what waits for the commands of a check are copied, which do nothing but import our
packages and answer, the `polycmp` that a command runs to see whether what it wrote shows a fault, and, where a test
asks for it, cases of suites and calls of the server. They run the same code as the interpreters in whose place they
stand, with the same messages, descriptors and environment, may crash or hang as these may, and end by themselves.
Programs and a `polycmp` that a test itself starts as a process are interpreters; scripts that a command wrote are
copies.
With 33 trials, the tests of `polycmp surgeon` take 4.2 s of processor time so, and 14.9 s with interpreters.
"""

from __future__ import annotations

import faulthandler
import gc
import logging
import os
import re
import runpy
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from commandline import ALONE
from in_process import plugins_installed

from polycmp._supervisor import supervised
from polycmp.cli.main import run as run_command
from polycmp.process import ChildProcess, CopiedProcess, _Copy, _parent, module_words

#: Modules whose children do nothing but import our packages and answer; what looks at a plugin has to be new.
COPIED = ("polycmp_onnx.trial", "polycmp.builtin.workers.child", "polycmp.builtin.debug.command_server")
#: Folders of PYTHONPATH as this process started, and the module that runs as an interpreter does.
STARTED = [os.path.abspath(item) for item in os.environ.get("PYTHONPATH", "").split(os.pathsep) if item]
STARTS = "sitecustomize.py"


class CopiedInterpreter(ChildProcess):
    """A `ChildProcess`, which is a copy of this process if it would be this interpreter with a module of `COPIED`."""

    def __init__(self, module: str, arguments: Sequence[str] = (), **options: Any) -> None:
        environ = options.get("environ")
        taken = dict(os.environ if environ is None else environ)
        is_alike = options.get("python", "") in {"", sys.executable} and _finds_what_this_finds(taken)
        if module not in COPIED or not is_alike or not CopiedProcess.can_copy():
            super().__init__(module, arguments, **options)
            return
        main = partial(import_module(module).main, [str(_parent()), *arguments])
        start = partial(_Interpreter, main, taken, options.get("path"), options.get("descriptors", ()))
        self._connect(start, options.get("on_stderr"))


class _Interpreter(_Copy):
    def __init__(
        self,
        main: Callable[[], Any],
        environ: Mapping[str, str],
        path: Sequence[str] | None,
        descriptors: Sequence[int],
        standard: Sequence[int],
        _others: Sequence[int],
    ) -> None:
        self._status = None
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self.pid = self._pid = os.fork()
        if not self._pid:
            _as_interpreter(main, environ, path, descriptors, standard)


def _as_interpreter(
    main: Callable[[], Any],
    environ: Mapping[str, str],
    path: Sequence[str] | None,
    descriptors: Sequence[int],
    standard: Sequence[int],
) -> NoReturn:
    """Make this copy look like an interpreter that was just started, and call its `main`."""
    status = 1
    gc.freeze()  # sessions of this process, whose ends wait for threads that the copy lacks
    try:
        faulthandler.disable()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, descriptor in enumerate(standard):
            os.dup2(descriptor, number)
        low = 3
        for descriptor in sorted(descriptors):
            os.closerange(low, descriptor)
            low = descriptor + 1
        os.closerange(low, 1 << 16)
        sys.stdin, sys.stdout, sys.stderr = (open(end, mode, closefd=False) for end, mode in enumerate("rww"))  # noqa: SIM115
        for logger in (logging.root, *map(logging.getLogger, list(logging.root.manager.loggerDict))):
            logger.handlers.clear()
            logger.setLevel(logging.WARNING if logger is logging.root else logging.NOTSET)
            logger.propagate = True
        os.environ.clear()
        os.environ.update(environ)
        if path is not None:
            sys.path[:] = path
        status = main() or 0
    except BrokenPipeError:  # the parent is gone
        pass
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)


#: What begins the words of a `polycmp` that a command starts.
POLYCMP = module_words("polycmp")
RUN = subprocess.run


def run_copied(words: Sequence[str], **options: Any) -> subprocess.CompletedProcess[Any]:
    """Do as `subprocess.run`, with a copy of this process for a `polycmp` that a command starts and whose text is left.

    Args:
        words: The command.
        options: As for `subprocess.run`.
    """
    environ = dict(options.get("env") or os.environ)
    known = {"cwd", "env", "stdin", "capture_output", "timeout", "check"}
    is_alike = [*words[: len(POLYCMP)]] == POLYCMP and _finds_what_this_finds(environ)
    if not is_alike or not options.keys() <= known or options.get("check"):
        return RUN(words, **options)
    return _run_polycmp(words[len(POLYCMP) :], options.get("cwd") or Path.cwd(), environ, options.get("timeout"))


def polycmp_copied(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `polycmp` as a process of its own would, with a supervisor and children, all of them copies of this one.

    It ends without what is done at the end of an interpreter.
    """
    with pytest.MonkeyPatch.context() as patch:
        copy_children(patch)
        done = _run_polycmp(words, cwd, dict(os.environ), 120)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def _run_polycmp(
    words: Sequence[object], folder: Path, environ: Mapping[str, str], timeout: float | None
) -> subprocess.CompletedProcess[bytes]:
    typed = [str(word) for word in words]

    def main() -> int:
        sys.argv = ["polycmp", *typed]
        # What runs once more after a crash has other words.
        return supervised(lambda: run_command(sys.argv[1:], plugins_installed()), typed)

    return run_as_process(main, folder, environ, timeout)


def run_as_process(
    program: Callable[[], int], folder: Path, environ: Mapping[str, str], timeout: float | None = 240
) -> subprocess.CompletedProcess[bytes]:
    """Call a function in a copy of this process, in a folder and with files for what it prints.

    Args:
        program: Called without arguments; it returns the exit status.
        folder: The folder.
        environ: Environment variables.
        timeout: Seconds after which it is ended with `subprocess.TimeoutExpired`.
    """

    def main() -> int:
        os.chdir(folder)
        return program()

    with open(os.devnull, "rb") as null, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        standard = [file.fileno() for file in (null, out, err)]
        copy = _Interpreter(main, environ, None, (), standard, ())
        try:
            status = copy.wait(timeout)
        except subprocess.TimeoutExpired:
            copy.kill()
            copy.wait()
            raise
        out.seek(0), err.seek(0)
        return subprocess.CompletedProcess([], status, out.read(), err.read())


def script_copied(path: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script as `python PATH` in a folder would, in a copy of this process."""

    def main() -> int:
        sys.argv = [path]
        sys.path.insert(0, str(Path(path).resolve().parent))
        runpy.run_path(path, run_name="__main__")
        return 0

    done = run_as_process(main, folder, os.environ)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


class CopiedProgram:
    """What `subprocess.Popen` returns for `from MODULE import NAME; NAME()`, with a copy of this process.

    Args:
        words: An interpreter, `-c`, the code, and what is in `sys.argv[1:]`.
        cwd: The folder in which it runs; None for the current one.
        stdin: Not read: the copy finds nothing there.
        stdout: An open file.
        stderr: An open file, or `subprocess.STDOUT`.
        start_new_session: Whether it is the first process of a session of its own.
        env: Environment variables; None for those of this process.
        pass_fds: Descriptors that stay open.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        cwd: str | None = None,
        stdin: int = subprocess.DEVNULL,
        stdout: Any,
        stderr: Any,
        start_new_session: bool = False,
        env: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        named = re.search(r"; from ([\w.]+) import (\w+); \2\(\)$", words[2])
        assert named is not None and stdin == subprocess.DEVNULL, words
        program = getattr(import_module(named[1]), named[2])

        def main() -> Any:
            if start_new_session:
                os.setsid()
            os.chdir(cwd or ".")
            sys.argv = ["-c", *words[3:]]
            return program()

        out = stdout.fileno()
        err = out if stderr == subprocess.STDOUT else stderr.fileno()
        with open(os.devnull, "rb") as null:
            standard = (null.fileno(), out, err)
            self._copy = _Interpreter(main, dict(env or os.environ), None, pass_fds, standard, ())
        self.pid = self._copy.pid
        self.returncode: int | None = None

    async def wait(self) -> int:
        """Wait for its end, as anyio's processes do."""
        import anyio

        while (status := self._copy.poll()) is None:
            await anyio.sleep(0.01)
        self.returncode = status
        return status

    async def aclose(self) -> None:
        """Wait for its end; nothing is open."""
        await self.wait()


def _finds_what_this_finds(environ: Mapping[str, str]) -> bool:
    """Return whether an interpreter with this environment looks for modules where this process does.

    Beside what this process was started with there may be folders that a test has put on both paths. What runs as an
    interpreter starts would not run in a copy, but for what hides packages: it hides them here, too.
    """
    folders = [os.path.abspath(item) for item in environ.get("PYTHONPATH", "").split(os.pathsep) if item]
    added = [folder for folder in folders if folder not in STARTED and folder != str(ALONE)]
    lacking = [folder for folder in STARTED if folder not in folders]
    return not lacking and all(folder in sys.path and not Path(folder, STARTS).exists() for folder in added)


def copy_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the commands that a test runs in this process have copies of it as children."""
    monkeypatch.setattr(subprocess, "run", run_copied)
    monkeypatch.setattr("polycmp.process.ChildProcess", CopiedInterpreter)
    monkeypatch.setattr("polycmp.builtin.workers.runner.ChildProcess", CopiedInterpreter)
    monkeypatch.setattr("polycmp.builtin.debug.command_server.ChildProcess", CopiedInterpreter)


def copy_cases(patch: pytest.MonkeyPatch) -> None:
    """Let suites run their cases in copies of this process in place of interpreters."""
    copying = SimpleNamespace(Popen=CopiedProgram, DEVNULL=subprocess.DEVNULL, STDOUT=subprocess.STDOUT)
    patch.setattr("polycmp_suite.running.process.subprocess", copying)
