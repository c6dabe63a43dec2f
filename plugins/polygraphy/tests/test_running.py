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


def test_a_module_that_has_no_counterpart_is_an_import_error_that_says_so(run, tmp_path):
    (tmp_path / "app.py").write_text(
        "try:\n    import polygraphy.tools.args\nexcept ImportError as error:\n    print(error)\n"
    )
    assert "polycmp has no counterpart of polygraphy.tools" in run("-m", "polycmp_polygraphy", "app.py").stdout
