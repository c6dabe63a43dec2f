"""Programs that call the command line: the process is theirs, before, during and after a command."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import faulty_models
import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals to speak of")

#: What importing and using polycmp must leave as it was. The program logs to a handler of its own.
STATE = """
    import faulthandler, gc, locale, logging, os, random, resource, signal, sys, threading, time, warnings
    import numpy, onnxruntime, rich.style  # which draws a number as it is imported

    logging.root.addHandler(logging.StreamHandler())

    def main(words):
        from polycmp.cli.main import main

        return main(words)

    def descriptors():
        found = {}
        for number in os.listdir("/dev/fd"):
            try:
                found[int(number)] = os.fstat(int(number))[:3]
            except OSError:
                pass
        return found

    def state():
        umask = os.umask(0)
        os.umask(umask)
        wakeup = signal.set_wakeup_fd(-1)
        signal.set_wakeup_fd(wakeup)
        names = [name for name in logging.root.manager.loggerDict if name.startswith("polycmp")]
        loggers = {name: logging.getLogger(name) for name in ("polycmp", *names)}
        plain = (0, True, [])
        return {
            "signals": [signal.getsignal(number) for number in signal.valid_signals()],
            "mask": signal.pthread_sigmask(signal.SIG_BLOCK, []),
            "wakeup": wakeup,
            "hooks": (sys.unraisablehook, sys.excepthook, threading.excepthook),
            "threads": [thread.name for thread in threading.enumerate()],
            "collector": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()),
            "warnings": list(warnings.filters),
            "environment": dict(os.environ),
            "folder": os.getcwd(),
            "path": list(sys.path),
            "streams": (sys.stdout, sys.stderr),
            "descriptors": [os.fstat(number)[:3] for number in range(3)],
            "messages": {
                name: item
                for name, logger in loggers.items()
                if (item := (logger.level, logger.propagate, logger.handlers[:])) != plain
            },
            "root": (logging.root.level, logging.root.handlers[:]),
            "filters": [item.filters[:] for item in (logging.root, *logging.root.handlers, logging.lastResort)],
            "records": logging.getLogRecordFactory(),
            "log classes": logging.getLoggerClass(),
            "open": descriptors(),
            "umask": umask,
            "limits": [resource.getrlimit(item) for item in (resource.RLIMIT_CORE, resource.RLIMIT_NOFILE)],
            "cores": os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None,
            "locale": locale.setlocale(locale.LC_ALL),
            "faults": faulthandler.is_enabled(),
            "imports": (sys.meta_path[:], sys.path_hooks[:]),
            "interpreter": (sys.getrecursionlimit(), sys.getswitchinterval(), sys.getprofile(), sys.gettrace()),
            "numpy": (numpy.geterr(), numpy.geterrcall(), str(numpy.get_printoptions())),
            "chance": (random.getstate(), numpy.random.get_state()[1].tolist(), numpy.random.get_state()[2]),
        }

    def show_changes(before):
        after = state()
        changed = [name for name in before if before[name] != after[name]]
        print("changed:", *changed)
        for name in changed:
            print(name, before[name], after[name])
        sys.stdout.flush()
"""
COMMANDS = {
    "a comparison": ["run", "model.onnx", "-b", "onnxrt", "-b", "onnx"],
    "a comparison in workers": ["run", "model.onnx", "-b", "onnxrt", "-b", "onnx", "--use-subprocess"],
    "all tensors": ["run", "chain.onnx", "-b", "onnxrt", "-b", "onnxrt", "--mark-all", "--max-memory", "2K"],
    "a difference": ["locate", "model.onnx", "other.onnx", "-b", "onnxrt", "-b", "onnx"],
    "a file that is written": ["convert", "model.onnx", "--fp-to-fp16", "-o", "half.onnx"],
    "wrong usage": ["run", "model.onnx", "-b", "onxrt"],
    "a log file": ["inspect", "model", "model.onnx", "--log-file", "messages.log"],
}


def program(code, *words):
    text = textwrap.dedent(STATE) + textwrap.dedent(code)
    return [sys.executable, "-c", text, *words]


#: One that compares, one that searches and one that writes a model.
FEW = ("a comparison in workers", "a difference", "a file that is written")


@pytest.mark.parametrize(
    "words",
    [pytest.param(words, marks=() if name in FEW else pytest.mark.corpus, id=name) for name, words in COMMANDS.items()],
)
def test_a_command_leaves_the_process_as_it_was(model, other, tmp_path, words):
    code = """
        before = state()
        main(sys.argv[1:])
        show_changes(before)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
        print("it goes on")
    """
    faulty_models.chain(tmp_path / "chain.onnx", length=4)
    done = subprocess.run(program(code, *words), capture_output=True, text=True, cwd=tmp_path, check=False)
    said = done.stdout[done.stdout.index("changed:") :]
    assert (said.strip(), done.returncode) == ("changed:", -signal.SIGTERM), done.stderr


def test_a_program_that_compares_is_left_as_it_was(model, tmp_path):
    code = """
        before = state()
        from polycmp.comparator import Comparator, CompareFunc, DataLoader
        from polycmp_onnx import OnnxFromPath
        from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx

        runners = [OnnxrtRunner(SessionFromOnnx(OnnxFromPath("model.onnx")), name) for name in ("one", "two")]
        results = Comparator.run(runners, DataLoader())
        assert Comparator.compare_accuracy(results, compare_func=CompareFunc.simple(atol=1e-5))
        show_changes(before)
    """
    done = subprocess.run(program(code), capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.stdout.strip(), done.returncode) == ("changed:", 0), done.stderr


def test_a_program_that_asks_in_one_line_is_left_as_it_was(model, other, tmp_path):
    code = """
        before = state()
        import polycmp

        assert not polycmp.compare(numpy.arange(3.0) + 1, numpy.arange(3.0)).passed
        found = polycmp.run("model.onnx", "onnxrt", "onnxrt:model=other.onnx")
        assert not found.passed
        assert found.locate().passed is False
        try:
            polycmp.run("missing.onnx", "onnxrt", "onnx")
        except polycmp.errors.PolycmpError:
            pass
        show_changes(before)
    """
    done = subprocess.run(program(code), capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.stdout.strip(), done.returncode) == ("changed:", 0), done.stderr


def test_a_notebook_is_left_as_it_was(model, tmp_path):
    """Cell by cell: imports of all that is public, files, threads of its own, messages, and what fails."""
    code = """
        before = state()
        from importlib import import_module

        for name in sys.argv[1:]:
            import_module(name)
        from polycmp.comparator import Comparator, CompareFunc, DataLoader, RunResults
        from polycmp.errors import PolycmpError
        from polycmp.func import invoke
        from polycmp.json import load_json, save_json
        from polycmp.logger import G_LOGGER
        from polycmp_onnx import OnnxFromPath
        from polycmp_onnx.runner import ReferenceRunner
        from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx

        def compare():
            load = OnnxFromPath("model.onnx")
            runners = [OnnxrtRunner(SessionFromOnnx(load)), ReferenceRunner(load)]
            return Comparator.run(runners, DataLoader(iterations=2))

        with G_LOGGER.verbosity(G_LOGGER.VERBOSE):
            results = compare()
        cell = threading.Thread(target=compare)
        cell.start()
        cell.join()
        results.save("results.json")
        assert Comparator.compare_accuracy(RunResults.load("results.json"), compare_func=CompareFunc.simple(atol=1e-5))
        try:
            OnnxFromPath("none.onnx")()
        except PolycmpError:
            pass
        show_changes(before)
    """
    done = subprocess.run(program(code, *public_modules()), capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.stdout.strip(), done.returncode) == ("changed:", 0), done.stderr


def public_modules():
    """The modules of the core that the page on the architecture calls public."""
    page = Path(__file__).resolve().parents[1] / "docs" / "architecture.md"
    listed = page.read_text(encoding="utf-8").partition("<!-- public modules -->")[2].partition("<!-- end -->")[0]
    found = sorted(set(re.findall(r"`(polycmp(?:\.\w+)*)`", listed)))
    assert len(found) > 20
    return found


#: Calls that change a process for good, and the modules that may: they run in processes that polycmp itself starts, or
#: put back what they change.
CHANGES = {
    r"\bmallopt\b|gc\.(freeze|disable|set_threshold)\(|setrlimit|sched_setaffinity|umask\(|faulthandler\.": {
        "engine_child.py"
    },
    r"os\.environ\[[^]]*\] *=[^=]|os\.environ\.(setdefault|update|pop)|putenv|\bsetlocale\(": {
        "model.py",
        "_environment.py",
        "_command.py",
        "child.py",
    },
    r"np\.(seterr|seterrcall|set_printoptions)\(|random\.seed\(|sys\.set\w+\(|addLevelName|basicConfig": set(),
    r"signal\.signal\(": {"_shutdown.py", "_supervisor.py", "engine_child.py", "process.py", "program.py", "start.py"},
}


@pytest.mark.parametrize("pattern", CHANGES)
def test_nothing_changes_the_process_for_good(pattern):
    """What cannot be seen from inside, such as the allocator's limits, and what other tests do not come by."""
    root = Path(__file__).resolve().parents[1]
    sources = [*root.glob("core/src/**/*.py"), *root.glob("plugins/*/src/**/*.py")]
    assert len(sources) > 500
    found = {path for path in sources if re.search(pattern, path.read_text(encoding="utf-8"))}
    assert {path.name for path in found} == CHANGES[pattern]


@pytest.fixture
def slow(tmp_path):
    """A loader of inputs that makes a file and takes its time."""
    (tmp_path / "slow.py").write_text(
        "import time\ndef load_data():\n    open('begun', 'w').close()\n    time.sleep(60)\n    yield {}\n"
    )
    return ["run", "model.onnx", "-b", "onnx", "--data-loader-script", "slow.py"]


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [
        (signal.SIGTERM, -signal.SIGTERM, "polycmp: ended by SIGTERM\n"),
        pytest.param(signal.SIGHUP, -signal.SIGHUP, "SIGHUP\n", marks=pytest.mark.corpus),
    ],
    ids=str,
)
def test_a_signal_during_a_command_ends_the_program(model, tmp_path, slow, number, status, said):
    code = """
        for _ in range(3):
            main(sys.argv[1:])
        print("it goes on")
    """
    found, out, err = signalled(tmp_path, program(code, *slow), number)
    assert (found, out) == (status, "")
    assert err.endswith(said)


def test_ctrl_c_during_a_command_reaches_the_program(model, tmp_path, slow):
    code = """
        try:
            main(sys.argv[1:])
        except KeyboardInterrupt:
            print("tidied up")
    """
    assert signalled(tmp_path, program(code, *slow), signal.SIGINT)[:2] == (0, "tidied up\n")


def test_what_a_program_has_for_a_signal_stays_in_charge(model, tmp_path, slow):
    code = """
        def ended(number, frame):
            print("mine", flush=True)
            os._exit(7)

        signal.signal(signal.SIGTERM, ended)
        main(sys.argv[1:])
        print("it goes on")
    """
    assert signalled(tmp_path, program(code, *slow), signal.SIGTERM)[:2] == (7, "mine\n")


def signalled(folder, command, number):
    """Return what becomes of a program that gets a signal while its command waits for inputs."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (folder / "begun").exists() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(number)
    out, err = process.communicate()
    return process.returncode, out, err
