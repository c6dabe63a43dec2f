"""What Windows and macOS lack is hidden: every module is imported, and commands compare, or refuse in words.

The processes of these tests stand in for other systems as far as one can: modules of POSIX cannot be imported by our
packages, and functions and signals that Windows lacks are not there.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import onnx
import pytest
from small_models import small_model

#: Put before what a process does. What the standard library and others hold of these modules stays theirs.
WITHOUT_POSIX = """
    import asyncio, concurrent.futures, contextlib, ctypes, importlib, multiprocessing.pool, os, platform, select
    import selectors, shutil, signal, subprocess, sys, tempfile
    import click.testing, numpy, onnx, onnxruntime, pluggy, rich.console, rich.progress, rich.status, rich.table

    with contextlib.suppress(ModuleNotFoundError):
        import mcp.server

    MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "readline", "curses"}

    class Hidden:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name in MODULES:
                raise ModuleNotFoundError(f"{name} is not on this system", name=name)

    sys.meta_path.insert(0, Hidden)
    for name in MODULES & set(sys.modules):
        del sys.modules[name]
    OF_OS = ("fork forkpty getuid geteuid getgid getegid getgroups killpg setsid getpgid getsid setpgid memfd_create "
             "sched_getaffinity sched_setaffinity waitid wait4 wait3 posix_fadvise posix_fallocate sysconf statvfs "
             "uname getloadavg mkfifo mknod nice O_NOFOLLOW O_DIRECTORY pread pwrite fchown chown lchown sendfile "
             "register_at_fork pipe2 ttyname tcgetpgrp getresuid sched_yield splice eventfd").split()
    OF_SIGNAL = "SIGHUP SIGALRM SIGUSR1 SIGUSR2 SIGQUIT SIGCHLD SIGPIPE SIGTSTP setitimer alarm pthread_kill".split()
    for module, names in ((os, OF_OS), (signal, OF_SIGNAL)):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
"""

IMPORT_ALL = """
    import pkgutil
    from importlib.metadata import entry_points

    tops = {"polycmp"} | {item.value.partition(".")[0] for item in entry_points(group="polycmp")}
    tops = {top for top in tops if top.startswith("polycmp")} | {"polycmp.testing"}
    seen, lacking = 0, {}
    for top in sorted(tops):
        package = importlib.import_module(top)
        for found in pkgutil.walk_packages(package.__path__, f"{top}."):
            if found.name.endswith("__main__") or ".startup." in found.name:  # what starts in a program of the user
                continue
            try:
                importlib.import_module(found.name)
            except ModuleNotFoundError as error:
                assert error.name not in MODULES, found.name
                lacking[found.name] = error.name
            seen += 1
    print(seen, sorted(set(lacking.values())))
"""

COMMANDS = """
    from polycmp.cli.main import main

    for words, status in {commands!r}:
        found = main(words.split())
        assert found == status, (words, found)
"""


@pytest.fixture
def folder(tmp_path):
    onnx.save(small_model(), tmp_path / "m.onnx")
    (tmp_path / "suite.toml").write_text('[[case]]\nname = "a"\nmodel = "m.onnx"\nbackends = ["onnxrt", "onnx"]\n')
    return tmp_path


def run(folder, code):
    text = textwrap.dedent(WITHOUT_POSIX) + textwrap.dedent(code)
    command = [sys.executable, "-c", text]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=280)


def test_every_module_is_imported(folder):
    done = run(folder, IMPORT_ALL)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) > 300


def test_commands_work(folder):
    commands = [
        ("run m.onnx -b onnxrt -b onnx --save-outputs o.npz --save-inputs i --report r.json r.html r.xml r.md", 0),
        ("run m.onnx -b onnxrt -b onnx --mark-all", 0),
        ("compare o.npz o.npz", 0),
        ("locate m.onnx -b onnxrt -b onnx", 0),
        ("invariants m.onnx -b onnxrt", 0),
        ("convert m.onnx -o n.onnx --fp-to-fp16", 0),
        ("run n.onnx m.onnx -b onnxrt --atol 1e-3", 0),
        ("inspect model m.onnx", 0),
        ("plugins list", 0),
        ("plugins check onnxrt", 0),
        ("suite suite.toml --dry-run", 0),
    ]
    done = run(folder, COMMANDS.format(commands=commands))
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_needs_posix_is_refused_in_words(folder):
    own_process, suite = "backends cannot run in processes of their own", "a suite cannot run on this system"
    refusals = {
        "run m.onnx -b onnxrt -b onnx --use-subprocess": own_process,
        "run m.onnx -b onnxrt -b onnxrt:python=python3": own_process,
        "locate m.onnx -b onnxrt -b onnx --use-subprocess": own_process,
        "suite suite.toml": suite,
    }
    done = run(folder, COMMANDS.format(commands=[(words, 3) for words in refusals]))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stderr.splitlines()
    said = [says for line in lines for says in (own_process, suite) if says in line]
    assert said == [*refusals.values()], done.stderr
    assert len([line for line in lines if line.startswith("  next: ")]) >= len(refusals)
    assert "Traceback" not in done.stderr
