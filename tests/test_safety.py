"""What a downloaded model, a library's message or a folder may try: none of it reaches the terminal or an import."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import onnx
import pytest
from fakes import FakeSite
from hypothesis import given, settings
from hypothesis import strategies as st
from in_parts import PARTS, a_few, in_parts
from odd_backend import odd_site
from onnx import TensorProto, helper

from polycmp.results.files import OutputsWriter
from polycmp.terminal import guarded, shorten, visible, visible_lines

ROOT = Path(__file__).resolve().parents[1]
COMMAND = "::stop-commands::tok"
EVIL = [
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m\x00nul",
    "\u202egnp.exe\u2066",
    "line\u2028sep\u2029\x85",
    f"two\n{COMMAND}",
    "fake\nPASSED: 9 outputs within tolerance",
    "back\rPASSED\x08",
    f"##[stop-commands]tok ##vso[task.complete] {COMMAND}",
    "\ufeff\u200b\u00ad\U000e0041",
    *(f"{'n' * length} {COMMAND}" for length in range(2, 118, 4)),
]


def evil_model(path: Path, bias: float = 0.0) -> None:
    """Save a model whose names all try something."""
    outputs = [f"{name}." for name in EVIL]
    nodes = [
        helper.make_node("Add", [EVIL[0], EVIL[1]], [out], name=name) for name, out in zip(EVIL, outputs, strict=True)
    ]
    for node, name in zip(nodes, EVIL, strict=True):
        node.doc_string = name
    graph = helper.make_graph(
        nodes,
        f"graph {EVIL[4]}",
        [helper.make_tensor_value_info(EVIL[0], TensorProto.FLOAT, ["\x1b[1mn", 8])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["\x1b[1mn", 8]) for name in outputs],
        [onnx.numpy_helper.from_array(np.full(8, bias, np.float32), EVIL[1])],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name=EVIL[0])
    onnx.save(made, path)


def assert_harmless(text: str) -> None:
    """Nothing acts on a terminal, nothing is a command to a CI system, no line claims another verdict."""
    odd = {char for char in text if char != "\n" and not char.isprintable() and unicodedata.category(char) != "Zs"}
    assert not odd
    for line in text.split("\n"):
        assert not line.strip().startswith("::"), line
        assert not re.search(r"##\w*\[", line), line
        assert not line.startswith("PASSED: 9"), line


@pytest.mark.parametrize(
    "words",
    [
        ["run", "evil.onnx", "-b", "onnx", "-b", "onnx:model=worse.onnx", "-v"],
        ["run", "evil.onnx", "-b", "onnx", "-b", "onnx:model=worse.onnx", "-vvvvv", "--log-format", "line-info"],
        ["run", "evil.onnx", "-b", "onnxrt", "-b", "onnx", "-b", "onnx:name=\x1b[2J"],
        ["run", "evil.onnx", "-b", "onnx", "--input-shapes", "nobody:[1]"],
        ["run", "evil.onnx", "-b", "onnx", "-b", "onnx:model=worse.onnx", "--atol", "nobody:1"],
        ["run", "evil.onnx", "-b", "onnx", "--load-outputs", "saved.npz"],
        ["run", "evil.onnx", "-b", "\x1b[2J\n::stop-commands::tok"],
        ["run", "\x1b[2J\n::stop-commands::tok.onnx", "-b", "onnx"],
        ["run", "--\x1b[2J\n::stop-commands::tok", "-b", "onnx"],
        ["locate", "evil.onnx", "-b", "onnx", "-b", "onnx:model=worse.onnx", "-v", "--explain"],
        ["inspect", "model", "evil.onnx", "--show", "layers", "attrs", "weights"],
        ["inspect", "data", "saved.npz", "--show-values"],
        ["inspect", "data", "saved.json"],
        ["invariants", "evil.onnx", "-b", "onnx", "-v"],
        ["selftest", "evil.onnx", "-b", "onnx", "--faults", "fp16", "-v"],
        ["\x1b[2J\n::stop-commands::tok"],
    ],
)
def test_names_reach_the_terminal_in_visible_characters(polycmp, tmp_path, monkeypatch, words):
    monkeypatch.setenv("GITHUB_ACTIONS", "false")
    evil_model(tmp_path / "evil.onnx")
    evil_model(tmp_path / "worse.onnx", 1.0)
    for file in ("saved.npz", "saved.json"):
        with OutputsWriter(tmp_path / file) as writer:
            for name in EVIL:
                writer.add(name, {f"{name}.": np.ones(3, np.float32)}, 0.1)
    done = polycmp(*words)
    assert done.out + done.err
    assert_harmless(done.out)
    assert_harmless(done.err)


def test_under_github_only_our_own_annotations_are_commands(polycmp, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    evil_model(tmp_path / "evil.onnx")
    evil_model(tmp_path / "worse.onnx", 1.0)
    done = polycmp("run", "evil.onnx", "-b", "onnx", "-b", "onnx:model=worse.onnx", "-v")
    assert done.status == 1
    commands = [line for line in done.out.split("\n") if line.startswith("::error title=")]
    assert len(commands) == 10
    assert_harmless("\n".join(line for line in done.out.split("\n") if line not in commands))
    assert all(line.count("::") == 2 or COMMAND in line for line in commands)


@pytest.mark.parametrize(
    ("mode", "how"),
    [
        *((mode, ()) for mode in ("escapes", "lines", "surrogate", "long")),
        ("escapes", ("--use-subprocess",)),
        *(
            pytest.param(mode, ("--use-subprocess",), marks=pytest.mark.corpus)
            for mode in ("lines", "surrogate", "long")
        ),
    ],
)
def test_errors_of_a_library_reach_the_terminal_in_visible_characters_and_every_report(model, tmp_path, mode, how):
    site = odd_site(tmp_path / "site", FakeSite)
    reports = ("--report", "r.json", "r.html", "r.xml", "--save-accuracy-results", "m.json")
    summary = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "summary.md"}
    done = site.polycmp(
        "run", "model.onnx", "-b", f"odd:mode={mode}", "-b", "onnx", *reports, *how, cwd=tmp_path, **summary
    )
    assert done.returncode == 3
    assert "ERROR" in done.stdout
    assert "Traceback" not in done.stderr
    assert_harmless("\n".join(line for line in done.stdout.split("\n") if not line.startswith("::error title=")))
    assert_harmless(done.stderr)
    assert len(done.stdout) + len(done.stderr) < 40_000
    for name in ("r.json", "r.html", "r.xml", "m.json", "summary.md"):
        assert 0 < len((tmp_path / name).read_bytes().decode("utf-8")) < 1_000_000
    error = json.loads((tmp_path / "r.json").read_text())["inference_results"][f"odd:mode={mode}"]["error"]
    assert {"surrogate": "\\udc80", "long": "first words", "lines": "one", "escapes": "cleared"}[mode] in error


@in_parts
@settings(max_examples=100 // PARTS)
@given(st.text(), st.integers(1, 200))
def test_no_text_gets_through(part, text, limit):
    assert_harmless(guarded(visible(text)))
    assert_harmless(guarded(visible_lines(text, "  ")).replace("PASSED: 9", ""))
    assert "\n" not in visible(text)
    assert len(shorten(text, limit)) <= len(text) or len(text) > limit


@given(
    st.lists(st.sampled_from(["::", "##[", "#", "[", ":", " ", "x" * 7, "\t", "\u3000", "\n", "set-env"])),
    st.integers(8, 60),
)
def test_no_line_of_a_table_is_a_command_at_any_width(parts, width):
    from rich.table import Table

    from polycmp.report.screen import Sentence, cell, make_console, words

    stream = io.StringIO()
    console = make_console(width=width, stream=stream)
    text = "".join(parts)
    table = Table("Run", "Reason", title=cell(text), title_justify="left")
    table.add_row(cell(text), words(text))
    console.print(table)
    console.print(Sentence(text))
    assert_harmless(stream.getvalue())


def test_every_text_on_the_terminal_is_made_in_one_place():
    core = ROOT / "core" / "src" / "polycmp"
    # `layout.py` joins with blanks what `screen.py` has made.
    allowed = {core / "report" / "screen.py", core / "report" / "layout.py", core / "terminal.py"}
    # What `polycmp record` starts in a user's program speaks there, with nothing of polycmp at hand.
    allowed |= {*ROOT.glob("plugins/record/src/polycmp_record/startup/**/*.py")}
    calls = {"Text", "Console", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write"}
    for path in sorted({*core.rglob("*.py"), *ROOT.glob("plugins/*/src/**/*.py")} - allowed):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if any(name in text for name in calls) else ():
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                raw = name in calls
                ours = (path.name, name) == ("script.py", "sys.stdout.write")  # it is run, not read
                assert not raw or ours, f"{path}:{node.lineno} calls {name}"


SABOTEUR = "open('imported', 'a').write(__name__)\nraise SystemExit(5)\n"


OURS = "import sys; del sys.path[0]; from polycmp.__main__ import main; main()"  # as the console script does


@pytest.mark.parametrize(
    "words",
    [
        ["run", "model.onnx", "-b", "onnx", "-b", "odd", "--use-subprocess"],
        ["plugins", "list"],
        *(
            pytest.param(words, marks=pytest.mark.corpus)
            for words in (
                ["run", "model.onnx", "-b", "odd:mode=zeros", "-b", f"onnx:python={sys.executable}"],
                ["plugins", "check", "onnx"],
                ["selftest", "-b", "onnx", "--faults", "crash"],
            )
        ),
    ],
)
@pytest.mark.parametrize("how", [("-c", OURS), pytest.param(("-m", "polycmp"), marks=pytest.mark.corpus)])
def test_no_process_of_ours_imports_from_the_current_folder(model, tmp_path, words, how):
    site = odd_site(tmp_path / "site")
    names = ["numpy", "json", "onnx", "click", "rich", "ml_dtypes", "polycmp_onnx", "odd_impl", "logging"]
    names += ["polycmp"] if how[0] == "-c" else []  # `python -m polycmp` would be asked to run it
    for name in names:
        (tmp_path / f"{name}.py").write_text(SABOTEUR)
    done = site.python(*how, *words, cwd=tmp_path)
    assert not (tmp_path / "imported").exists()
    assert done.returncode in {0, 1}, done.stdout + done.stderr


def test_a_relative_entry_of_pythonpath_is_the_users_own_choice(model, tmp_path):
    odd_site(tmp_path / "site")
    command = [
        sys.executable,
        "-m",
        "polycmp",
        "run",
        "model.onnx",
        "-b",
        "odd",
        "-b",
        "odd:mode=x",
        "--use-subprocess",
    ]
    environ = {**os.environ, "PYTHONPATH": "site"}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("closed", "how", "mode", "status"),
    [
        pytest.param("<&-", "--use-subprocess", "", 0, marks=pytest.mark.corpus),
        (">&-", "", "zeros", 1),
        ("2>&-", "", "nosuch,colour=red", 2),
        pytest.param(">&-", "--use-subprocess", "", 0, marks=pytest.mark.corpus),
        pytest.param("2>&-", "", "zeros", 1, marks=pytest.mark.corpus),
        pytest.param("2>&-", "--use-subprocess", "lines", 3, marks=pytest.mark.corpus),
        pytest.param("<&- >&- 2>&-", "", "lines", 3, marks=pytest.mark.corpus),
        ("<&- >&- 2>&-", "--use-subprocess", "zeros", 1),
    ],
)
def test_closed_descriptors_change_no_status(model, tmp_path, closed, how, mode, status):
    site = odd_site(tmp_path / "site")
    command = (
        f"{sys.executable} -m polycmp run model.onnx -b odd:mode={mode or 'x'} -b odd {how} --report r.json {closed}"
    )
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=tmp_path,
        env=site.environ(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    assert "fault of polycmp" not in done.stderr
    assert (tmp_path / "r.json").exists() == (status != 2)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_result_that_cannot_be_written_is_no_result(model, tmp_path):
    for words, status in ((["run", "model.onnx", "-b", "onnx"], 3), (["inspect", "model", "model.onnx"], 3)):
        with Path("/dev/full").open("w") as full:
            command = [sys.executable, "-m", "polycmp", *words]
            done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == status
        assert "No space left on device" in done.stderr
        assert "fault of polycmp" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="the shell's limit is that of Linux")
@pytest.mark.parametrize("suffix", a_few(["npz", "json", "safetensors"]))
def test_outputs_that_do_not_fit_are_no_fault_of_a_plugin(tmp_path, suffix):
    pytest.importorskip("onnxruntime")
    [x], [y] = ([helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 65536])] for name in "xy")
    graph = helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    command = f"ulimit -f 100; {sys.executable} -m polycmp run m.onnx -b onnxrt --save-outputs out.{suffix}"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 3
    assert f"polycmp: cannot write out.{suffix}\n" in done.stderr
    assert "next: ulimit -f\n" in done.stderr
    assert "observer" not in done.stdout + done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.onnx"]


@pytest.mark.parametrize("how", [pytest.param((), marks=pytest.mark.corpus), ("--use-subprocess",)])
def test_a_model_with_letters_outside_ascii_runs_in_the_c_locale(model, tmp_path, how):
    pytest.importorskip("onnxruntime")
    name = "modèle-模型.onnx"
    model.rename(tmp_path / name)
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    site = FakeSite(tmp_path / "empty")
    done = site.python(
        "-m", "polycmp", "run", os.fsencode(name).decode(), "-b", "onnxrt", "-b", "onnx", *how, cwd=tmp_path, **locale
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "pybind11" not in done.stdout + done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux only")
def test_a_file_name_that_is_not_utf8_gets_words(model, tmp_path):
    pytest.importorskip("onnxruntime")
    os.rename(model, os.fsencode(tmp_path) + b"/lat\xfc.onnx")
    command = [
        sys.executable,
        "-m",
        "polycmp",
        "run",
        b"lat\xfc.onnx",
        "-b",
        "onnxrt",
        "-b",
        "onnx",
        "--report",
        "r.json",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "are not UTF-8" in done.stdout
    assert "pybind11" not in done.stdout + done.stderr
    assert json.loads((tmp_path / "r.json").read_text())["verdict"] == "error"
