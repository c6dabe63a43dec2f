"""A crash in native code: one line says whose, doing what, with which file, and what to type; nothing else is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
from copied_processes import polycmp_copied
from in_parts import a_few
from onnx import TensorProto, helper, numpy_helper

from polycmp.process import code_words

CRASH = "import ctypes\nctypes.string_at(0)\n"
#: An operator of the reference that ends the process.
OPERATOR = """
import ctypes
from onnx.reference.op_run import OpRun
class Tanh(OpRun):
    op_domain = ""
    def _run(self, x):
        ctypes.string_at(0)
new_ops = [Tanh]
"""
AT_EXIT = """
import atexit, ctypes
atexit.register(ctypes.string_at, 0)
new_ops = []
"""


@pytest.fixture
def folder(tmp_path):
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["scaled"], name="scale"),
        helper.make_node("Tanh", ["scaled"], ["bent"], name="bend"),
        helper.make_node("Add", ["bent", "w"], ["y"], name="shift"),
    ]
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])],
        [numpy_helper.from_array(np.float32([1.5]), "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    for name, code in (("load.py", CRASH), ("run.py", OPERATOR), ("exit.py", AT_EXIT)):
        (tmp_path / name).write_text(code)
    return tmp_path


def process(folder, *words):
    """Run `polycmp` in an interpreter of its own, to the very end."""
    return subprocess.run(
        [sys.executable, "-m", "polycmp", *words], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )


def copied(folder, *words):
    return polycmp_copied(*words, cwd=folder)


@pytest.mark.parametrize(
    ("script", "when", "others"),
    [
        ("load.py", "while it was activated", ["-b", "onnxrt"]),
        ("run.py", "in iteration 0", []),
        pytest.param("load.py", "while it was activated", [], marks=pytest.mark.corpus),
        pytest.param("run.py", "in iteration 0", ["-b", "onnxrt"], marks=pytest.mark.corpus),
    ],
)
def test_run_says_whose_crash_it_was_and_goes_on(folder, script, when, others):
    done = copied(folder, "run", "m.onnx", "-b", f"onnx:ops={script},name=frail", *others)
    assert done.returncode == 3, done.stderr
    said, going_on = done.stderr.splitlines()[-2:]
    assert said.startswith(f"polycmp: died {when}: frail with m.onnx (SIGSEGV")
    assert going_on == "  continuing with each backend in its own process (--use-subprocess)"
    assert f"frail failed: died with signal 11 (SIGSEGV) {when}" in done.stdout


def test_run_names_every_backend_that_dies(folder):
    frail = [f"-bonnx:ops={script},name={name}" for script, name in (("run.py", "frail"), ("load.py", "frailer"))]
    done = copied(folder, "run", "m.onnx", *frail, "-b", "onnxrt")
    assert done.returncode == 3, done.stderr
    assert "ERROR: frail, frailer failed" in done.stdout
    assert "frailer failed: died with signal 11 (SIGSEGV) while it was activated" in done.stdout


#: What reads the operators dies of the first one that it is asked to make, whatever that is.
GUILTY = {"load.py": "Mul 'scale'", "run.py": "Tanh 'bend'"}
WAYS = [pytest.param("load.py", marks=pytest.mark.corpus), "run.py"]
ENDED = "polycmp: the process died as it ended (SIGSEGV"


def test_locate_goes_on_and_names_the_operator(folder):
    done = copied(folder, "locate", "m.onnx", "-b", "onnx:ops=run.py,name=frail", "-b", "onnxrt")
    assert "continuing with each backend in its own process" in done.stderr
    assert GUILTY["run.py"] in done.stdout, done.stdout + done.stderr
    assert done.returncode in {1, 3}


@pytest.mark.corpus
def test_locate_names_no_operator_where_the_backend_runs_none(folder):
    done = copied(folder, "locate", "m.onnx", "-b", "onnx:ops=load.py,name=frail", "-b", "onnxrt")
    assert "continuing with each backend in its own process" in done.stderr
    assert "frail failed: died with signal 11 (SIGSEGV) while it was activated" in done.stdout
    assert done.returncode == 3


@pytest.mark.parametrize("script", WAYS)
def test_reduce_says_what_to_type_and_that_names_the_operator(folder, script):
    done = copied(folder, "debug", "reduce", "m.onnx", "-b", f"onnx:ops={script},name=frail", "-b", "onnxrt")
    assert done.returncode == 3
    said, following = done.stderr.splitlines()[-2:]
    assert said.startswith("polycmp: died ") and "frail with m.onnx (SIGSEGV" in said
    again = copied(folder, *following.removeprefix("  next: polycmp ").split())
    assert (again.returncode, GUILTY[script] in again.stdout) == (0, True), again.stdout + again.stderr


@pytest.mark.parametrize("words", ["locate", pytest.param("debug reduce", marks=pytest.mark.corpus)])
def test_a_crash_at_the_end_of_a_search_takes_nothing_back(folder, words):
    done = process(folder, *words.split(), "m.onnx", "-b", "onnx:ops=exit.py,name=frail", "-b", "onnxrt")
    assert (done.returncode, "NO FAULT" in done.stdout) == (0, True), done.stdout + done.stderr
    assert done.stderr.splitlines()[-1].startswith(ENDED)


@pytest.mark.corpus  # the suite's own tests have cases that crash
def test_a_suite_goes_on_after_each(folder):
    case = '[[case]]\nname = "{0}"\nmodel = "m.onnx"\nbackend = ["onnx:ops={0}.py,name=frail", "onnxrt"]\n'
    (folder / "suite.toml").write_text("".join(map(case.format, ("load", "run", "exit"))))
    done = process(folder, "suite", "suite.toml")
    assert done.returncode == 3
    said = " ".join(done.stdout.split())
    assert "frail: died with signal 11 (SIGSEGV) while it was activated" in said
    assert "frail: died with signal 11 (SIGSEGV) in iteration 0" in said
    assert "3 cases: 1 passed, 2 not compared" in said


def test_a_crash_at_the_end_takes_nothing_back(folder):
    done = process(folder, "run", "m.onnx", "-b", "onnx:ops=exit.py,name=frail", "-b", "onnxrt")
    assert "PASSED" in done.stdout
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1].startswith(ENDED)


@pytest.mark.parametrize("number", a_few([signal.SIGTERM, signal.SIGINT]))
def test_signals_reach_the_command_and_its_status_comes_back(folder, number):
    (folder / "wait.py").write_text(
        "import time\nfrom pathlib import Path\n"
        "def load_data():\n    Path('begun').touch()\n    time.sleep(60)\n    yield {}\n"
    )
    words = ["run", "m.onnx", "-b", "onnx", "--data-loader-script", "wait.py"]
    process = subprocess.Popen(
        [sys.executable, "-m", "polycmp", *words], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    end = time.monotonic() + 60
    while not (folder / "begun").exists() and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 128 + number, error
    assert "Traceback" not in error


@pytest.mark.parametrize("status", [0, pytest.param(1, marks=pytest.mark.corpus)])
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("def load_data():\n    os._exit({0})\n", ["--data-loader-script", "ends.py"]),
        *(
            pytest.param(*item, marks=pytest.mark.corpus)
            for item in (
                ("def compare_outputs(one, two):\n    os._exit({0})\n", ["--compare-func-script", "ends.py"]),
                ("os._exit({0})\n", ["--onnx-ops", "ends.py"]),
            )
        ),
    ],
)
def test_a_process_that_is_ended_in_the_middle_has_compared_nothing(folder, script, words, status):
    (folder / "ends.py").write_text("import os\n" + script.format(status))
    done = copied(folder, "run", "m.onnx", "-b", "onnxrt", "-b", "onnx", *words)
    assert done.returncode == 3, done.stdout + done.stderr
    assert f"exit status {status}: a library or a script ended the process" in done.stderr
    assert "PASSED" not in done.stdout


#: Modules that polycmp and its tools begin with; a stranger's folder may hold files of these names.
HOSTILE = ("polycmp", "polycmp_onnx", "pip", "venv", "numpy", "onnx", "onnxruntime", "runpy", "csv", "email", "json")


def hostile(folder):
    """Put modules into a folder that leave a trace and end the process with 0 when they are imported."""
    for name in HOSTILE:
        (folder / f"{name}.py").write_text(
            f"import os\nopen({str(folder / 'ran')!r}, 'a').write('{name} ')\nos._exit(0)\n"
        )


@pytest.mark.parametrize(
    "words",
    [
        ["locate", "m.onnx", "worse.onnx", "-b", "onnxrt", "--save-repro", "repro"],
        *(
            pytest.param(words, marks=pytest.mark.corpus)
            for words in (
                ["locate", "m.onnx", "-b", "onnx:ops=scripts/run.py,name=frail", "-b", "onnxrt"],
                ["debug", "reduce", "m.onnx", "worse.onnx", "-b", "onnxrt", "--save-repro", "repro"],
                ["run", "m.onnx", "-b", "onnxrt", "-b", "onnx", "--use-subprocess"],
            )
        ),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_modules_beside_a_model_are_not_run(folder, words):
    model = onnx.load(folder / "m.onnx")
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.float32([2.5]), "w"))
    onnx.save(model, folder / "worse.onnx")
    (folder / "scripts").mkdir()
    (folder / "run.py").rename(folder / "scripts/run.py")
    hostile(folder)
    program = code_words("from polycmp.__main__ import main; main()")  # as the program `polycmp` begins
    done = subprocess.run([*program, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=240)
    assert not (folder / "ran").exists(), (folder / "ran").read_text()
    assert done.stdout, done.stderr
    if "scripts" in words[3]:
        assert GUILTY["run.py"] in done.stdout
    if "--save-repro" in words:
        assert "repro" in done.stdout + done.stderr
