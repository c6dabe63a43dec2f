"""`python -m polycmp_polygraphy` runs programs as `python` does, with our modules in place of Polygraphy's."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SHOW = "import polygraphy, sys\nprint(polygraphy.__version__, polygraphy.__file__, sys.argv[1:], __name__)\n"


@pytest.fixture
def run(tmp_path):
    """Run words in a folder where another Polygraphy, `0.1`, is installed beside ours."""
    theirs = tmp_path / "installed" / "polygraphy"
    theirs.mkdir(parents=True)
    (theirs / "__init__.py").write_text("__version__ = '0.1'\n")
    (tmp_path / "app.py").write_text(SHOW)

    def call(*words, installed=True, text=None):
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        if installed:
            environment["PYTHONPATH"] = str(theirs.parent)
        command = [sys.executable, *words]
        return subprocess.run(
            command, check=False, cwd=tmp_path, env=environment, input=text, capture_output=True, text=True, timeout=120
        )

    return call


def test_a_program_gets_our_modules_and_its_own_arguments(run):
    done = run("-m", "polycmp_polygraphy", "app.py", "--theirs", "-m", "x")
    assert done.stderr == ""
    version, file, rest = done.stdout.split(" ", 2)
    assert (version, rest) == ("0.53.6", "['--theirs', '-m', 'x'] __main__\n")
    assert "polycmp_polygraphy" in file


def test_theirs_is_the_polygraphy_that_is_installed(run):
    assert run("-m", "polycmp_polygraphy", "--theirs", "app.py").stdout.startswith("0.1 ")


def test_other_processes_keep_theirs(run):
    assert run("-c", "import polycmp_polygraphy\n" + SHOW).stdout.startswith("0.1 ")


CHILD = "import subprocess, sys\nsys.exit(subprocess.run([sys.executable, *sys.argv[1:]]).returncode)\n"


@pytest.mark.parametrize("installed", [True, False])
def test_interpreters_that_a_program_starts_get_our_modules_too(run, tmp_path, installed):
    (tmp_path / "child.py").write_text(SHOW + "from importlib.metadata import version\nprint(version('polygraphy'))\n")
    (tmp_path / "app.py").write_text(CHILD)
    done = run("-m", "polycmp_polygraphy", "app.py", "child.py", installed=installed)
    assert done.stdout.startswith("0.53.6 "), done.stderr
    assert done.stdout.endswith("0.53.6\n")


def test_they_keep_their_own_sitecustomize_and_path(run, tmp_path):
    (tmp_path / "installed" / "sitecustomize.py").write_text("print('of the program')\n")
    (tmp_path / "child.py").write_text("import sys\nprint([entry for entry in sys.path if 'startup' in entry])\n")
    (tmp_path / "app.py").write_text(CHILD)
    done = run("-m", "polycmp_polygraphy", "app.py", "child.py")
    assert done.stdout == "of the program\nof the program\n[]\n", done.stderr


def test_where_polycmp_is_not_installed_they_get_what_is(run, tmp_path):
    (tmp_path / "child.py").write_text("import polygraphy\nprint(polygraphy.__version__)\n")
    (tmp_path / "app.py").write_text(
        "import os, subprocess, sys\n"
        "blocked = \"import sys; sys.modules['polycmp_polygraphy'] = None; exec(open('child.py').read())\"\n"
        "subprocess.run([sys.executable, '-c', blocked])\n"
    )
    assert run("-m", "polycmp_polygraphy", "app.py").stdout == "0.1\n"


def test_theirs_within_ours_is_the_polygraphy_that_is_installed(run, tmp_path):
    (tmp_path / "show.py").write_text(SHOW)
    (tmp_path / "child.py").write_text(SHOW + CHILD)
    (tmp_path / "app.py").write_text(CHILD)
    done = run("-m", "polycmp_polygraphy", "app.py", "-m", "polycmp_polygraphy", "--theirs", "child.py", "show.py")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["0.1", "0.1"], done.stderr


def test_a_module_is_run_by_its_name(run):
    assert run("-m", "polycmp_polygraphy", "-m", "app", "y").stdout.startswith("0.53.6 ")


def test_a_program_comes_from_standard_input(run, tmp_path):
    (tmp_path / "helper.py").write_text("NAME = 'beside'\n")
    text = "import helper, polygraphy, sys\nprint(polygraphy.__version__, helper.NAME, sys.argv, __name__)\n"
    done = run("-m", "polycmp_polygraphy", "-", "y", text=text)
    assert done.stdout == "0.53.6 beside ['-', 'y'] __main__\n", done.stderr


def test_imports_beside_the_program_work_and_its_exit_status_is_ours(run, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "helper.py").write_text("from polygraphy.util import default\nSTATUS = default(None, 7)\n")
    (folder / "main.py").write_text("import sys\nfrom helper import STATUS\nsys.exit(STATUS)\n")
    assert run("-m", "polycmp_polygraphy", "elsewhere/main.py").returncode == 7


def test_the_installed_version_is_told_where_a_program_asks_for_it(run, tmp_path):
    (tmp_path / "app.py").write_text("from importlib.metadata import version\nprint(version('polygraphy'))\n")
    assert run("-m", "polycmp_polygraphy", "app.py").stdout == "0.53.6\n"


def test_both_names_of_a_module_are_one(run, tmp_path):
    (tmp_path / "app.py").write_text(
        "import polygraphy.backend.onnx.loader as theirs, polycmp_polygraphy.backend.onnx.loader as ours\n"
        "from polygraphy import func\nimport importlib\n"
        "print(theirs is ours, theirs.__spec__.name, importlib.reload(func) is func)\n"
    )
    done = run("-m", "polycmp_polygraphy", "app.py")
    assert done.stdout == "True polycmp_polygraphy.backend.onnx.loader True\n", done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["absent.py"], "there is no program 'absent.py'"),
        (["--theirs", "app.py"], "Polygraphy is not installed here"),
        ([], "usage:"),
    ],
)
def test_what_cannot_be_run_is_said_with_status_2(run, words, said):
    done = run("-m", "polycmp_polygraphy", *words, installed=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_tactics_are_written_as_json_and_read_back(run, tmp_path):
    (tmp_path / "app.py").write_text(
        "from polygraphy.backend.trt import Algorithm, TacticReplayData, TensorInfo\n"
        "from polygraphy.json import from_json, to_json\n"
        "info = TensorInfo('DataType.FLOAT', (1, 2), -1, 1)\n"
        "algorithm = Algorithm(4, 5, inputs=[info], outputs=[info, info])\n"
        "replay = TacticReplayData().add('layer', algorithm)\n"
        "print([from_json(to_json(item)) == item for item in (info, algorithm, [info], replay)])\n"
        "print(from_json(replay.to_json()) == replay, TacticReplayData.from_json(to_json(replay)) == replay)\n"
    )
    done = run("-m", "polycmp_polygraphy", "app.py")
    assert done.stdout == "[True, True, True, True]\nTrue True\n", done.stderr


def test_there_is_no_logger_of_tensorrt_before_there_is_tensorrt(run, tmp_path):
    (tmp_path / "app.py").write_text("from polygraphy.backend.trt.util import TRT_LOGGER\nprint(TRT_LOGGER)\n")
    assert run("-m", "polycmp_polygraphy", "app.py").stdout == "None\n"


def test_a_result_of_several_functions_is_a_list_alone(run, tmp_path):
    (tmp_path / "app.py").write_text(
        "import numpy as np\n"
        "from polygraphy.comparator import AccuracyResults, Comparator, CompareFunc, IterationResult, RunResults\n"
        "def made(name): return (name, [IterationResult({'y': np.ones(2)}, runner_name=name)])\n"
        "runs = RunResults([made('a'), made('b')])\n"
        "one = Comparator.compare_accuracy(runs)\n"
        "two = Comparator.compare_accuracy(runs, compare_func=[CompareFunc.simple(), CompareFunc.l2()])\n"
        "print(isinstance(one, AccuracyResults), len(one), list(one[0]), one['a', 'b'] == one[0]['a', 'b'])\n"
        "print(('a', 'b') in one, list(one.items()) == list(one[0].items()), one.percentage(), bool(one), len(two))\n"
        "try:\n    two['a', 'b']\nexcept AttributeError as error:\n    print(error)\n"
    )
    done = run("-m", "polycmp_polygraphy", "app.py")
    assert [line for line in done.stdout.splitlines() if not line.startswith("[")] == [
        "True 1 [('a', 'b')] True",
        "True True 1.0 True 2",
        "there are 2 results, one for each compare function: name one by its index",
    ], done.stderr


def test_messages_are_those_that_a_program_asks_for(run, tmp_path):
    (tmp_path / "app.py").write_text(
        "import numpy as np\n"
        "from polygraphy.comparator import Comparator, IterationResult, RunResults\n"
        "from polygraphy.logger import G_LOGGER\n"
        "def made(name): return (name, [IterationResult({'y': np.ones(2)}, runner_name=name)])\n"
        "runs = RunResults([made('a'), made('b')])\n"
        "Comparator.compare_accuracy(runs)\n"
        "G_LOGGER.module_severity = G_LOGGER.ERROR\n"
        "Comparator.compare_accuracy(runs)\n"
    )
    said = run("-m", "polycmp_polygraphy", "app.py").stdout
    required = "Minimum Required Tolerance: elemwise error | [abs=0] OR [rel=0]"
    assert said.count(f"[I]             {required}") == 1
    assert "[I] Accuracy Summary | a vs. b | Passed: 1/1 iterations | Pass Rate: 100.00%\n" in said


def test_a_module_that_has_no_counterpart_is_an_import_error_that_says_so(run, tmp_path):
    (tmp_path / "app.py").write_text(
        "try:\n    import polygraphy.tools.args\nexcept ImportError as error:\n    print(error)\n"
    )
    assert "polycmp has no counterpart of polygraphy.tools" in run("-m", "polycmp_polygraphy", "app.py").stdout
