"""Backends that may work at the same time go through the windows of a model side by side; all others take turns."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import faulty_models
import pytest
from fakes import FakeSite

from polycmp.model import Model
from polycmp.plan import BackendPlan
from polycmp.plugins import Registry
from polycmp.runner import all_cores
from polycmp.runs.resolved_backend import ResolvedBackend
from polycmp_onnxrt.plugin import Options

SHAPES = {faulty_models.chain: ["x:[1,4,16,16]"], faulty_models.residual: ["x:[5,8]"]}

PLUGIN = """
    from dataclasses import dataclass
    from polycmp.spec import RunnerSpec, RunnerTools, hookimpl, opt

    @dataclass(frozen=True)
    class Options:
        mode: str = opt("", help="what to do")
        device: str = opt("cpu", help="where")

    @hookimpl
    def polycmp_runners():
        yield RunnerSpec("side", "side by side", "side_impl:make", Options, tools=__name__ + ":Side")
        yield RunnerSpec("turns", "one at a time", "side_impl:make", Options)

    class Side(RunnerTools):
        concurrent = True
        exclusive = ("device",)
"""

#: Notes in a file when it begins and ends to run; `meet` waits until two of them run at the same time.
IMPL = """
    import os, threading, time
    from polycmp.runner import all_cores, usable_cores
    from polycmp_onnxrt.runner import OnnxrtRunner
    from polycmp_onnxrt.session import SessionFromOnnx

    meeting, lock = threading.Barrier(2), threading.Lock()

    def note(text):
        with lock, open(os.environ["NOTES"], "a") as file:
            file.write(text + chr(10))

    class Side(OnnxrtRunner):
        def __init__(self, model, options, name):
            super().__init__(SessionFromOnnx(model.load("onnx")), name)
            self.mode = options.mode

        def activate_impl(self):
            if self.mode == "meet-activated":
                meeting.wait(60)
            if self.mode == "break":
                raise ValueError("no such luck")
            super().activate_impl()

        def infer_impl(self, feed_dict):
            note(f"begin {self.name} {all_cores()} {usable_cores()}")
            if self.mode == "meet":
                meeting.wait(60)
            if self.mode == "fail" and "x" not in feed_dict:
                raise ValueError("no such luck")
            if self.mode == "hang":
                time.sleep(600)
            outputs = super().infer_impl(feed_dict)
            note(f"end {self.name}")
            return outputs

    class Reusing(Side):
        outputs_stay_valid = False

    def make(model, options, *, name):
        return (Reusing if options.mode == "reuse" else Side)(model, options, name)
"""

#: A compare function that notes when it begins and ends; its first call gives the second window some seconds to begin.
COMPARE = """
    import os, time
    from polycmp.spec import IMPOSTORS
    from side_impl import note

    seconds = [float(os.environ["SECONDS_TO_BEGIN"])]

    def compare_outputs(candidate, reference, *, output):
        note(f"compare {output}")
        deadline = time.monotonic() + (seconds.pop() if seconds else 0)
        while time.monotonic() < deadline:
            if open(os.environ["NOTES"]).read().count("begin") == 4:
                break
            time.sleep(0.01)
        note(f"done {output}")
        return True

    compare_outputs.ignores = IMPOSTORS
"""


@pytest.fixture
def side(tmp_path, monkeypatch):
    """A place where the backends `side` and `turns` are installed; `side.notes()` is what they noted."""
    site = FakeSite(tmp_path / "site")
    site.plugin("side", PLUGIN)
    (site.folder / "side_impl.py").write_text(textwrap.dedent(IMPL))
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    site.notes = lambda: [line.split() for line in (tmp_path / "notes").read_text().splitlines()]
    return site


def compare(site, tmp_path, *backends):
    model = faulty_models.chain(tmp_path / "m.onnx", length=4)
    words = [word for backend in backends for word in ("-b", backend)]
    report = tmp_path / "r.json"
    done = site.polycmp("run", model, *words, "--mark-all", "--max-memory", "2K", "--report", report, cwd=tmp_path)
    return done, json.loads(report.read_text())


needs_two_cores = pytest.mark.skipif(all_cores() < 2, reason="nothing runs at the same time on one core")


@needs_two_cores
def test_backends_that_may_run_at_the_same_time_do_each_with_its_part_of_the_cores(side, tmp_path):
    done, found = compare(side, tmp_path, "side:mode=meet,name=one", "side:mode=meet,name=two")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(found["comparison_results"][0]["outputs"]) == 8
    begun = [line for line in side.notes() if line[0] == "begin"]
    assert len(begun) > 2  # more windows than one
    assert {(int(cores), int(mine)) for _, _, cores, mine in begun} == {(all_cores(), max(1, all_cores() // 2))}


@pytest.mark.parametrize("other", ["turns", "side:device=gpu"], ids=["not allowed", "not with this option"])
def test_a_backend_that_may_not_run_beside_others_takes_turns_with_all_cores(side, tmp_path, other):
    done, _ = compare(side, tmp_path, "side:name=one", f"{other}{',' if ':' in other else ':'}name=two")
    assert done.returncode == 0, done.stdout + done.stderr
    notes = side.notes()
    assert len(notes) > 4
    for begin, end in zip(notes[::2], notes[1::2], strict=True):
        assert (begin[0], end[0], begin[1]) == ("begin", "end", end[1])
        assert begin[2] == begin[3]


def test_backends_that_may_run_at_the_same_time_are_activated_at_once_and_run_in_turn(side, tmp_path):
    model = faulty_models.chain(tmp_path / "m.onnx", length=4)
    backends = [f"side:mode=meet-activated,name={name}" for name in ("one", "two")]
    done = side.polycmp("run", model, "-b", backends[0], "-b", backends[1], cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    turns = [line[:2] for line in side.notes()][:4]  # then one of them shows whether its outputs move with the inputs
    assert turns == [[when, name] for name in ("one", "two") for when in ("begin", "end")]
    assert {tuple(line[2:]) for line in side.notes() if line[0] == "begin"} == {(str(all_cores()),) * 2}


@pytest.mark.parametrize("bad", ["one", "two"])
def test_one_that_cannot_be_activated_beside_another_has_failed_and_the_other_runs(side, tmp_path, bad):
    model = faulty_models.chain(tmp_path / "m.onnx", length=4)
    modes = {"one": "", "two": "", bad: ",mode=break"}
    words = [word for name, mode in modes.items() for word in ("-b", f"side:name={name}{mode}")]
    done = side.polycmp("run", model, *words, "--report", tmp_path / "r.json", cwd=tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr
    results = json.loads((tmp_path / "r.json").read_text())["inference_results"]
    assert "no such luck" in results.pop(bad)["error"]
    [other] = results.values()
    assert not other.get("error")
    assert len(side.notes()) == 2


@needs_two_cores
def test_one_that_fails_beside_another_has_failed_and_the_other_goes_on(side, tmp_path):
    done, found = compare(side, tmp_path, "side:name=bad,mode=fail", "side:name=good", "side:name=ref")
    assert done.returncode == 3
    assert "no such luck" in found["inference_results"]["bad"]["error"]
    good = next(pair for pair in found["comparison_results"] if pair["candidate"] == "good")
    assert good["passed"]
    assert len(good["outputs"]) == 8


def compared_by_a_script(site, tmp_path, *words):
    """Compare a model of several windows with the script; return the first letters of what was noted, in order."""
    (script := tmp_path / "c.py").write_text(textwrap.dedent(COMPARE))
    model = faulty_models.chain(tmp_path / "m.onnx", length=4)
    done = site.polycmp("run", model, *words, "--mark-all", "--max-memory", "2K", "--compare-func-script", script)
    assert done.returncode == 0, done.stdout + done.stderr
    return "".join(line[0][0] for line in site.notes())


@needs_two_cores
def test_the_next_window_runs_while_one_is_compared(side, tmp_path, monkeypatch):
    monkeypatch.setenv("SECONDS_TO_BEGIN", "60")
    notes = compared_by_a_script(side, tmp_path, "-b", "side:name=one", "-b", "side:name=two")
    first, _, rest = notes.partition("d")
    assert first.count("b") == 4  # no third window as long as the first one is compared
    assert rest.count("b") > 2


@pytest.mark.parametrize(
    "words",
    [
        ("-b", "side:name=one,mode=reuse", "-b", "side:name=two"),
        ("-b", "side:name=one", "-b", "side:name=two", "--fail-fast"),
        ("-b", "turns:name=one", "-b", "turns:name=two"),
    ],
    ids=["outputs are overwritten", "stop at the first failure", "one at a time"],
)
def test_nothing_runs_ahead_where_that_may_spoil_something(side, tmp_path, monkeypatch, words):
    monkeypatch.setenv("SECONDS_TO_BEGIN", "1")
    notes = compared_by_a_script(side, tmp_path, *words)
    windows = [part for part in re.split("[cd]+", notes) if part]
    assert len(windows) > 2
    assert all(part.count("b") == part.count("e") == 2 for part in windows)


@needs_two_cores
@pytest.mark.parametrize("bad", ["candidate", "reference"])
def test_what_was_compared_before_a_window_failed_ahead_stays(side, tmp_path, bad):
    modes = {"candidate": "", "reference": "", bad: ",mode=fail"}
    backends = [f"side:name={name}{mode}" for name, mode in modes.items()]
    done, found = compare(side, tmp_path, *backends)
    assert done.returncode == 3
    assert "no such luck" in found["inference_results"][bad]["error"]
    [pair] = found["comparison_results"]
    assert (pair["candidate"], pair["reference"]) == ("candidate", "reference")
    assert 0 < len(pair["outputs"]) < 8
    assert all(output["passed"] for output in pair["outputs"].values())


def test_ctrl_c_ends_a_run_of_several_at_once(side, tmp_path):
    model = faulty_models.chain(tmp_path / "m.onnx", length=4)
    words = ["run", model, "-b", "side:mode=hang,name=one", "-b", "side:mode=hang,name=two", "--mark-all"]
    process = subprocess.Popen(
        [sys.executable, "-m", "polycmp", *words],
        env=side.environ(),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "notes").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)  # both are in their call
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        process.kill()


@pytest.mark.parametrize(
    ("options", "beside"),
    [
        (Options(), True),
        (Options(optimization="off"), True),
        (Options(providers=("cuda", "cpu")), False),
        (Options(threads=1), False),
        (Options(inter_threads=2), False),
        (Options(op_libs=("x.so",)), False),
        (Options(profile="p.json"), False),
    ],
)
def test_onnx_runtime_runs_beside_others_unless_the_user_chose_a_device_or_threads(tmp_path, options, beside):
    model = Model(str(faulty_models.chain(tmp_path / "m.onnx")), Registry.discover())
    contribution = model.registry.find_runner("onnxrt")
    backend = ResolvedBackend(BackendPlan("ort", "onnxrt", options), model, contribution)
    assert backend.runs_beside_others is beside
    in_a_process = ResolvedBackend(BackendPlan("ort", "onnxrt", options), model, contribution, lambda *_: None)
    assert not in_a_process.runs_beside_others


@pytest.mark.parametrize("make", [faulty_models.chain, faulty_models.residual])
def test_running_at_once_gives_what_taking_turns_gives(polycmp, tmp_path, make):
    model = make(tmp_path / "m.onnx")
    found = []
    for threads in ("", f",threads={max(1, all_cores() // 2)}"):  # threads that the user chose make them take turns
        backends = ("-b", f"onnxrt:name=one{threads}", "-b", f"onnxrt:name=two,optimization=off{threads}")
        words = (model, *backends, "--mark-all", "--max-memory", "2K", "--input-shapes", *SHAPES[make])
        done = polycmp("run", *words, "--report", "r.json", "-q")
        [pair] = json.loads((tmp_path / "r.json").read_text())["comparison_results"]
        found.append((done.status, pair["outputs"]))
    assert found[0] == found[1]


def test_loading_in_threads_leaves_standard_output_as_it_was(tmp_path, monkeypatch):
    registry = Registry.discover()
    monkeypatch.syspath_prepend(tmp_path)
    for name, seconds in (("first_slow", 0.3), ("second_slow", 0.6)):
        (tmp_path / f"{name}.py").write_text(f"import time\ntime.sleep({seconds})\nmade = print\n")
    before, contribution = sys.stdout, registry.find_runner("onnxrt")
    threads = [
        threading.Thread(target=registry.load, args=(contribution, f"{name}:made"))
        for name in ("first_slow", "second_slow")
    ]
    for thread in threads:
        thread.start()
        time.sleep(0.1)
    for thread in threads:
        thread.join()
    assert sys.stdout is before
