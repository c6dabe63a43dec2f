"""A command in a process of its own: its status comes back, and a crash is told in words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from in_parts import a_few

from polycmp._supervisor import supervised

PROGRAM = """
import ctypes, os, signal, sys
from polycmp._activity import HERE
from polycmp._supervisor import supervised

def command():
    with HERE.doing("while it was activated: frail with m.onnx"):
        {body}
    return 7

sys.exit(supervised(command, {words!r}))
"""


def supervise(body: str, *words: str):
    code = PROGRAM.format(body=body, words=list(words))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)


def test_the_status_of_the_command_comes_back():
    done = supervise("pass", "run", "m.onnx")
    assert (done.returncode, done.stderr) == (7, "")


def test_a_crash_says_whose_it_is_and_what_to_type():
    done = supervise("ctypes.string_at(0)", "flaky", "m.onnx")
    assert done.returncode == 3
    said, following = done.stderr.splitlines()
    assert said.startswith("polycmp: died while it was activated: frail with m.onnx (SIGSEGV")
    assert following == "  next: polycmp flaky m.onnx --use-subprocess"


@pytest.mark.parametrize("status", a_few([0, 1, 2, 130], 2))
def test_an_exit_status_that_the_command_did_not_give_is_no_verdict(status):
    """A library may end the process while it is loaded: nothing was compared then."""
    done = supervise(f"os._exit({status})", "flaky", "m.onnx")
    assert done.returncode == 3
    said, following = done.stderr.splitlines()
    assert said.startswith(f"polycmp: died while it was activated: frail with m.onnx (exit status {status}: ")
    assert following == "  next: polycmp flaky m.onnx --use-subprocess"


def test_a_library_that_ends_the_process_after_the_command_leaves_its_status():
    done = supervise("import atexit; atexit.register(os._exit, 0)", "run")
    assert (done.returncode, done.stderr) == (7, "")


def test_the_status_comes_back_however_much_was_going_on():
    busy = "stacks = [HERE.doing('x' * 60000) for _ in range(3)]; [stack.__enter__() for stack in stacks]"
    assert supervise(busy, "run").returncode == 7


TWO = """
import os, sys, threading
from polycmp._activity import HERE
from polycmp._supervisor import supervised

def command():
    if "--use-subprocess" in sys.argv:
        print("again", *sys.argv[1:])
        return 1
    with HERE.doing("while it was activated: good"):
        def other():
            with HERE.doing("while it was activated: bad"):
                os.abort()
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

sys.argv[1:] = {words!r}
sys.exit(supervised(command, {words!r}))
"""


@pytest.mark.parametrize("words", [["run", "m.onnx"], ["flaky", "m.onnx"]])
def test_run_goes_on_with_each_backend_in_a_process_of_its_own(words):
    done = subprocess.run(
        [sys.executable, "-c", TWO.format(words=words)], capture_output=True, text=True, check=False, timeout=60
    )
    if words[0] == "run":
        assert (done.returncode, done.stdout) == (1, "again run m.onnx --use-subprocess\n")
        assert "continuing with each backend in its own process" in done.stderr
    else:
        assert (done.returncode, done.stdout) == (3, "")
        assert "next: polycmp flaky m.onnx --use-subprocess" in done.stderr


@pytest.mark.parametrize("number", [2, 15])
def test_a_signal_that_ends_the_command_ends_this_process(number):
    done = supervise(f"signal.signal({number}, signal.SIG_DFL); os.kill(os.getpid(), {number})", "run")
    assert done.returncode == -number


def test_a_signal_after_the_end_of_the_command_leaves_its_status():
    after = "import atexit; atexit.register(lambda: (signal.signal(2, signal.SIG_DFL), os.kill(os.getpid(), 2)))"
    done = supervise(after, "run")
    assert done.returncode == 7


def test_ctrl_c_for_the_whole_group_is_one_interrupt_for_the_command():
    tidy = """try:
            print("ready", flush=True)
            time.sleep(60)
        except KeyboardInterrupt:
            time.sleep(0.3)  # the signal that is passed on comes while it tidies up
            print("tidy", flush=True)
            return 130"""
    code = "import time\n" + PROGRAM.format(body=tidy, words=["run"])
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "tidy\n"
    assert process.returncode == 130


def test_ctrl_c_that_meets_a_destructor_still_interrupts_the_command_and_once():
    """The parent passes it on a moment later, which counts as the same one."""
    tidy = """
        import time
        from polycmp._shutdown import ended_by_signals

        class Dying:
            def __del__(self):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.01)  # here Python raises, and nobody sees it

        with ended_by_signals():
            try:
                Dying()
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(20)
                return 3  # as for a child that died
            except KeyboardInterrupt:
                time.sleep(0.3)
                return 130"""
    done = supervise(tidy, "run")
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.parametrize(("given", "seen"), [(None, "4"), ("20", "20")])
def test_threads_of_openblas_do_not_spin_in_the_commands_process_unless_the_user_wants_it(monkeypatch, given, seen):
    monkeypatch.delenv("OPENBLAS_THREAD_TIMEOUT", raising=False)
    if given:
        monkeypatch.setenv("OPENBLAS_THREAD_TIMEOUT", given)
    done = supervise('print(os.environ["OPENBLAS_THREAD_TIMEOUT"])', "run")
    assert (done.stdout.strip(), done.returncode) == (seen, 7)


def test_where_processes_cannot_be_copied_the_command_runs_here(monkeypatch):
    monkeypatch.delattr("os.fork")
    assert supervised(lambda: 7, ["run"]) == 7


@pytest.mark.parametrize("words", a_few([("--help",), ("plugins", "list"), ("run", "--help")], 2))
def test_a_reader_that_has_gone_is_no_verdict_and_no_death(words):
    """Click takes a broken pipe for its own and ends the process with 1, which is that outputs differ."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "polycmp", *words], stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (3, "")
