"""What belongs to a terminal: shell completion, and progress that only a terminal sees."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from copied_processes import run_as_process
from fakes import FakeSite, runner

from polycmp.__main__ import main

SLOW = """
    import time
    from polycmp.runner import Runner
    from polycmp.tensors import TensorMetadata

    class Slow(Runner):
        def get_input_metadata_impl(self):
            return TensorMetadata().add("x", "float32", ["n", 8])
        def infer_impl(self, feed_dict):
            time.sleep(2)
            return {"y": feed_dict["x"]}

    def make(model, options, *, name):
        return Slow(name)
"""


def complete(*words: str) -> list[str]:
    line = " ".join(words)
    environ = {
        **os.environ,
        "_POLYCMP_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }

    def program() -> int:
        sys.argv = ["polycmp"]
        return main() or 0

    done = run_as_process(program, Path.cwd(), environ)
    assert not done.stderr
    return [item.partition(",")[2] for item in done.stdout.decode().split()]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("polycmp", "ru"), {"run"}),
        (("polycmp", "run", "m.onnx", "--onnxrt-opt"), {"--onnxrt-optimization"}),
        (("polycmp", "run", "m.onnx", "--nan", "f"), {"forbid"}),
        (("polycmp", "run", "m.onnx", "--compare", "cos"), {"cosine_similarity"}),
        (("polycmp", "run", "m.onnx", "-b", "onnxr"), {"onnxrt"}),
        (("polycmp", "run", "m.onnx", "-b", "onnxrt:name=a,thr"), {"onnxrt:name=a,threads="}),
        (("polycmp", "run", "--input-shapes", "x:[1]", "y:[2]", "--onnxrt-th"), {"--onnxrt-threads"}),
    ],
)
def test_the_shell_completes(words, offered):
    assert set(complete(*words)) == offered


@pytest.fixture
def slow(tmp_path) -> FakeSite:
    site = FakeSite(tmp_path / "site")
    site.plugin("slow", runner("slow", factory="slow_impl:make"))
    (site.folder / "slow_impl.py").write_text(textwrap.dedent(SLOW))
    return site


def run_on_terminal(site: FakeSite, *words: object) -> str:
    """Run with standard error on a terminal, and return what the terminal saw."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "polycmp", *map(str, words)]
    environ = site.environ(TERM="xterm", NO_COLOR="1")
    process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=theirs, cwd=site.folder)
    os.close(theirs)
    seen = b""
    while True:
        try:
            data = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        seen += data
    os.close(ours)
    assert process.wait(60) == 0
    return seen.decode()


def test_what_takes_over_a_second_shows_progress_on_a_terminal(slow, model):
    seen = run_on_terminal(slow, "run", model, "-b", "slow")
    assert "iteration 1" in seen
    assert "iteration 0" not in run_on_terminal(slow, "run", model, "-b", "slow", "--silent")


def test_progress_counts_iterations_and_says_how_long_it_takes(slow, model):
    seen = run_on_terminal(slow, "run", model, "-b", "slow", "--iterations", "3", "--input-shapes", "x:[1,8]")
    assert "iteration 1 of 3" in seen
    assert re.search(r"iteration 2 of 3, \d+ s left", seen)


def test_nothing_is_shown_where_there_is_no_terminal(slow, model):
    done = slow.polycmp("run", model, "-b", "slow", "--input-shapes", "x:[1,8]")
    assert done.returncode == 0
    assert done.stderr == ""


def test_a_long_version_is_cut_in_tables_and_whole_in_the_report(slow, model, tmp_path):
    whole = "2026.4.1-22982-e213a147257-releases/2026/4"
    file = slow.folder / "slow_impl.py"
    made = f"made = Slow(name)\n    made.backend_version = {whole!r}\n    return made"
    file.write_text(file.read_text().replace("time.sleep(2)", "").replace("return Slow(name)", made))
    report = tmp_path / "r.json"
    done = slow.polycmp(
        "run", model, "-b", "slow", "-b", "slow:name=b", "--report", report, "--input-shapes", "x:[1,8]"
    )
    assert done.returncode == 0, done.stderr
    assert "2026.4.1-22982-… " in done.stdout
    assert whole not in done.stdout
    assert whole in report.read_text()


def test_killing_the_command_while_it_saves_leaves_no_half_file(slow, model, tmp_path):
    target = tmp_path / "outputs.npz"
    words = ["run", str(model), "-b", "slow", "--iterations", "5", "--save-outputs", str(target)]
    process = subprocess.Popen(
        [sys.executable, "-m", "polycmp", *words], env=slow.environ(), cwd=tmp_path, stdout=subprocess.DEVNULL
    )
    part = wait_for(lambda: next(tmp_path.glob(".outputs.npz.*"), None))
    assert wait_for(lambda: part.stat().st_size or None)  # the first iteration is on its way to the disk
    process.kill()
    process.wait()
    assert not target.exists()


def wait_for(look):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = look()
        if found is not None:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen")


BARS = """
    import numpy as np
    from tqdm import tqdm

    def load_data():
        for _ in tqdm(range(2), desc="Loading weights"):
            yield {"x": np.ones((1, 8), np.float32)}
"""


@pytest.mark.parametrize(("words", "drawn"), [((), False), (("-v",), True)])
def test_progress_bars_of_libraries_are_drawn_for_v_only(slow, model, words, drawn):
    pytest.importorskip("tqdm")
    (slow.folder / "bars.py").write_text(textwrap.dedent(BARS))
    file = slow.folder / "slow_impl.py"
    file.write_text(file.read_text().replace("time.sleep(2)", "pass"))
    done = slow.python(
        "-m", "polycmp", "run", model, "-b", "slow", "--data-loader-script", slow.folder / "bars.py", *words
    )
    assert done.returncode == 0, done.stderr
    assert ("Loading weights" in done.stderr) == drawn


def test_a_program_keeps_its_environment(monkeypatch, capsys):
    from polycmp.cli.main import main

    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    assert main(["--version"]) == 0
    assert "TQDM_DISABLE" not in os.environ
