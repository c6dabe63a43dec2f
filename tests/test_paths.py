"""Files of one run: none overwrites another, none is lost to a signal, none goes to another folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from odd_backend import odd_site

RUN = ("run", "model.onnx", "-b", "onnx", "-b", "onnx:dtype=float64")


@pytest.fixture
def odd(tmp_path):
    return odd_site(tmp_path / "site")


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["--save-inputs", "one", "--save-outputs", "one"], ["--save-inputs", "--save-outputs"]),
        (["--save-inputs", "t.npz", "--save-outputs", "./sub/../t.npz"], ["--save-inputs", "--save-outputs"]),
        (["--report", "t.json", "--save-outputs", "t.json"], ["--report", "--save-outputs"]),
        (["--report", "t.json", "link.json"], ["--report"]),
        (["--report", "t.json", "--save-accuracy-results", "hard.json"], ["--report", "--save-accuracy-results"]),
        (["--save-outputs", "golden.npz", "--load-outputs", "golden.npz"], ["--save-outputs", "--load-outputs"]),
        (["--save-outputs", "saved", "--load-outputs", "saved/0000000000.0.npz"], ["--save-outputs"]),
        (["--save-inputs", "in.json", "--load-inputs", "in.json"], ["--save-inputs", "--load-inputs"]),
        (["--log-file", "model.onnx"], ["--log-file", "MODEL"]),
        (["--log-file", "same.onnx"], ["--log-file", "MODEL"]),
        (["--gen-script", "model.onnx"], ["--gen-script", "MODEL"]),
        (["--write-config", "data.py", "--data-loader-script", "data.py:load"], ["--write-config"]),
        (["--write-config", "run.toml", "--config", "run.toml"], ["--write-config", "--config"]),
        (["--save-onnx", "model.onnx"], ["save", "MODEL"]),
        (["--save-onnx", "t.json", "--report", "t.json"], ["--report", "save"]),
        (["-b", "onnx:model=other.onnx", "--log-file", "other.onnx"], ["--log-file", "-b"]),
    ],
)
def test_a_path_that_would_overwrite_another_is_refused(polycmp, model, other, tmp_path, words, options):
    (tmp_path / "sub").mkdir()
    (tmp_path / "t.json").write_text("before")
    (tmp_path / "link.json").symlink_to("t.json")
    os.link(tmp_path / "t.json", tmp_path / "hard.json")
    os.link(model, tmp_path / "same.onnx")
    (tmp_path / "data.py").write_text("def load():\n    return []\n")
    (tmp_path / "run.toml").write_text("seed = 1\n")
    assert polycmp(*RUN, "--save-outputs", "golden.npz", "--save-inputs", "in.json").status == 0
    assert polycmp(*RUN, "--save-outputs", "saved").status == 0
    before = contents(tmp_path)
    done = polycmp(*RUN, *words)
    assert done.status == 2, done.err
    assert all(option in done.err for option in options), done.err
    assert contents(tmp_path) == before


def test_other_commands_do_not_overwrite_what_they_read(polycmp, model, tmp_path):
    assert polycmp(*RUN, "--save-accuracy-results", "metrics.json").status == 0
    before = contents(tmp_path)
    for words in (
        ["check", "accuracy", "metrics.json", "--save-accuracy-results", "metrics.json"],
        ["check", "accuracy", "metrics.json", "--report", "metrics.json"],
        ["inspect", "model", "model.onnx", "--log-file", "model.onnx"],
        ["locate", *RUN[1:], "--keep-tap", "model.onnx"],
        ["locate", *RUN[1:], "--save-repro", "case", "--report", "r.json", "--log-file", "r.json"],
        ["selftest", "model.onnx", "-b", "onnx", "--log-file", "model.onnx"],
    ):
        assert polycmp(*words).status == 2, words
    assert contents(tmp_path) == before


def test_paths_that_only_look_alike_are_used(polycmp, model, tmp_path):
    words = ("--save-inputs", "one.npz", "--save-outputs", "one", "--report", "one.json", "one.xml")
    assert polycmp(*RUN, *words).status == 0
    assert polycmp(*RUN, "--gen-script", "-").status == 0
    assert {path.name for path in tmp_path.iterdir()} >= {"one.npz", "one", "one.json", "one.xml"}


def start(site, folder, *words):
    command = [sys.executable, "-m", "polycmp", "run", "model.onnx", *words, "--iterations", "200"]
    return subprocess.Popen(command, env=site.environ(), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(look):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def children_of(pid):
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, check=False).stdout
    return [int(item) for item in found.split()]


@pytest.mark.skipif(shutil.which("pgrep") is None, reason="no pgrep to look for children")
@pytest.mark.parametrize(
    ("number", "target", "how"),
    [
        (signal.SIGTERM, "outputs.npz", ()),
        pytest.param(signal.SIGTERM, "outputs.json", (), marks=pytest.mark.corpus),
        pytest.param(signal.SIGTERM, "outputs.safetensors", (), marks=pytest.mark.corpus),
        pytest.param(signal.SIGTERM, "outputs", (), marks=pytest.mark.corpus),
        pytest.param(signal.SIGHUP, "outputs.npz", (), marks=pytest.mark.corpus),
        pytest.param(signal.SIGTERM, "outputs.npz", ("--use-subprocess",), marks=pytest.mark.corpus),
        (signal.SIGHUP, "outputs", ("--use-subprocess",)),
    ],
)
def test_a_signal_in_the_middle_of_writing_leaves_nothing_half_done(odd, model, tmp_path, number, target, how):
    before = {path.name for path in tmp_path.iterdir()}
    process = start(odd, tmp_path, "-b", "odd:mode=slow", "--save-outputs", target, *how)
    pattern = "outputs/0000000001*.npz" if target == "outputs" else f".{target}.*"
    wait_for(lambda: list(tmp_path.glob(pattern)))
    children = wait_for(lambda: children_of(process.pid)) if how else []
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert signal.Signals(number).name in err.decode()
    assert "Traceback" not in err.decode()
    left = {path.name for path in tmp_path.iterdir()} - before
    assert left == ({"outputs"} if target == "outputs" else set())
    assert not list((tmp_path / "outputs").glob(".*"))
    for child in children:
        wait_for(lambda child=child: not os.path.exists(f"/proc/{child}"))


@pytest.mark.skipif(sys.platform != "linux", reason="blocks in a way that Linux has")
def test_a_signal_ends_a_command_that_is_stuck_in_native_code(odd, model, tmp_path):
    before = {path.name for path in tmp_path.iterdir()}
    process = start(odd, tmp_path, "-b", "odd:mode=stuck", "--save-outputs", "outputs.npz")
    wait_for((tmp_path / "stuck").exists)
    assert list(tmp_path.glob(".outputs.npz.*"))
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert err.decode().endswith("polycmp: ended by SIGTERM\n")
    assert {path.name for path in tmp_path.iterdir()} - before == {"stuck"}


def test_a_signal_that_comes_in_a_destructor_ends_the_command_as_any_other(odd, model, tmp_path):
    before = {path.name for path in tmp_path.iterdir()}
    process = start(odd, tmp_path, "-b", "odd:mode=destructor", "--save-outputs", "outputs.npz")
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err.decode()) == (128 + signal.SIGTERM, "polycmp: ended by SIGTERM\n")
    assert {path.name for path in tmp_path.iterdir()} == before


def test_a_signal_that_is_ignored_stays_ignored(odd, model, tmp_path):
    words = "run model.onnx -b odd:mode=slow --iterations 10 --save-outputs o"
    command = f"trap '' HUP; exec {sys.executable} -m polycmp {words}"
    process = subprocess.Popen(["sh", "-c", command], env=odd.environ(), cwd=tmp_path, stdout=subprocess.DEVNULL)
    wait_for(lambda: list(tmp_path.glob("o/*.npz")))
    process.send_signal(signal.SIGHUP)
    assert process.wait(60) == 0


@pytest.mark.parametrize(
    ("first", "sequential"),
    [
        ("odd:mode=chdir", ()),
        ("onnx", ("--sequential-runners",)),
        pytest.param("odd:mode=chdir", ("--sequential-runners",), marks=pytest.mark.corpus),
        pytest.param("onnx", (), marks=pytest.mark.corpus),
    ],
)
def test_a_backend_that_changes_the_folder_takes_no_file_with_it(odd, model, tmp_path, first, sequential):
    odd.polycmp("run", "model.onnx", "-b", "onnx", "--save-inputs", "in.json", "--save-outputs", "golden", cwd=tmp_path)
    post = "import os\ndef postprocess_outputs(o):\n    os.chdir(os.path.dirname(__file__) + '/site')\n    return o\n"
    (tmp_path / "post.py").write_text(post)
    written = ("--report", "r.json", "r.html", "--save-outputs", "o.npz", "--save-inputs", "i.npz")
    done = odd.polycmp(
        *("run", "model.onnx", "-b", first, "-b", "odd:mode=chdir", "-b", "onnx:model=model.onnx"),
        *("--load-inputs", "in.json", "--load-outputs", "golden", *written, *sequential),
        *("--postprocess-func-script", "post.py", "--save-accuracy-results", "m.json", "--save-input-blob", "blob"),
        cwd=tmp_path,
    )
    assert done.returncode == 1, done.stdout + done.stderr  # it does not calculate what the model does
    for name in ("r.json", "r.html", "o.npz", "i.npz", "m.json", "blob"):
        assert (tmp_path / name).exists(), name
    report = json.loads((tmp_path / "r.json").read_text())
    assert all(not run["error"] for run in report["inference_results"].values())
    assert str(tmp_path) not in (tmp_path / "r.json").read_text() + done.stdout + done.stderr
