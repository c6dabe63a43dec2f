"""Child processes that are copies of the tests' process: what an interpreter takes a second to import is there at once.

Only workers and trials of models are copied, which do nothing but import our packages and answer. They run the same
code as the interpreters in whose place they stand, with the same messages, descriptors and environment, may crash or
hang as these may, and end by themselves. Programs, scripts and `polycmp` as a process of its own are interpreters.
`plugins/onnx/tests/test_surgeon.py`, with 33 trials, takes 4.2 s of processor time so, and 14.9 s with interpreters.
"""

from __future__ import annotations

import faulthandler
import gc
import logging
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

import pytest

from polycmp.process import ChildProcess, CopiedProcess, _Copy, _parent

#: Modules whose children do nothing but import our packages and answer; what looks at a plugin has to be new.
COPIED = ("polycmp_onnx.trial", "polycmp.builtin.workers.child")
#: What this process looked for modules in as it started; an interpreter with another one is no copy of it.
PYTHONPATH = os.environ.get("PYTHONPATH")


class CopiedInterpreter(ChildProcess):
    """A `ChildProcess`, which is a copy of this process if it would be this interpreter with a module of `COPIED`."""

    def __init__(self, module: str, arguments: Sequence[str] = (), **options: Any) -> None:
        environ = options.get("environ")
        taken = dict(os.environ if environ is None else environ)
        is_alike = options.get("python", "") in {"", sys.executable} and taken.get("PYTHONPATH") == PYTHONPATH
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
        self._pid = os.fork()
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


def copy_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the commands that a test runs in this process have copies of it as children."""
    monkeypatch.setattr("polycmp.process.ChildProcess", CopiedInterpreter)
    monkeypatch.setattr("polycmp.builtin.workers.runner.ChildProcess", CopiedInterpreter)
