"""A backend that lies, in every mode, in the ways in which backends run: what it does is its own fault, and is said."""

from __future__ import annotations

import os
import re
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from in_parts import each_once, spelled

pytest.importorskip("polycmp_onnx")

STAGES = ("make", "activate", "describe", "infer", "deactivate")

#: Mode -> exit status of a comparison with the reference, and what is said.
OUTPUTS: dict[str, tuple[int, str]] = {
    "honest": (0, "PASSED"),
    "off": (1, "FAILED"),
    "nan": (1, "NaN"),
    "float": (3, "returned a float where an array is wanted, as output 'y'"),
    "int": (3, "returned an int where an array is wanted, as output 'y'"),
    "list": (1, "onnx has no output 'y.0'"),  # a list of arrays is a sequence, compared element by element
    "nested": (3, "returned a list where an array is wanted, as output 'y'"),
    "none": (3, "returned None where an array is wanted, as output 'y'"),
    "text": (3, "returned a str where an array is wanted, as output 'y'"),
    "bytes": (3, "returned a bytes where an array is wanted, as output 'y'"),
    "not_quite": (3, "returned a NotQuite where an array is wanted, as output 'y'"),
    "scalar": (1, "shape [] instead of [2,4]"),
    "missing": (1, "has no output 'y'"),
    "extra": (1, "has no output 'more'"),
    "renamed": (3, "no output in common"),
    "number_name": (3, "returned an output with the name 5, which is no text"),
    "none_name": (3, "returned an output with the name None, which is no text"),
    "unhashable": (3, "unhashable"),
    "nothing": (3, "NoneType"),
    "no_outputs": (3, "ERROR"),
    "pairs": (3, "returned list instead of a dict"),
    "generator": (3, "returned generator instead of a dict"),
    "generator_output": (3, "returned a generator where an array is wanted, as output 'y'"),
    "big_endian": (0, "PASSED"),
    "big_endian_off": (1, "FAILED"),
    "float64": (0, "float64 compared with float32"),
    "integers": (1, "integer is not float"),
    "booleans": (1, "bool is not float"),
    "complex": (1, "complex is not float"),
    "strings": (1, "string is not float"),
    "objects": (3, "returned an array of objects that holds a float, as output 'y'"),
    "agreeable": (3, "returned an array of objects that holds an Agreeable, as output 'y'"),
    "structured": (3, "which no tensor has, as output 'y'"),
    "dates": (3, "which no tensor has, as output 'y'"),
    "zero_size": (1, "shape [0,4] instead of [2,4]"),
    "zero_dim": (1, "shape [] instead of [2,4]"),
    "deep": (1, "instead of [2,4]"),
    "transposed": (1, "shape [4,2] instead of [2,4]"),
    "strided": (0, "PASSED"),
    "flattering": (1, "FAILED"),
    "masked": (1, "FAILED"),
    "reuse": (0, "PASSED"),
    "late": (0, "PASSED"),
    "write_hard": (3, "writes into its inputs"),
    "write_soft": (0, "PASSED"),
    "write_flag": (3, "writes into its inputs"),
    "write_base": (3, "hostile"),
    "write_out": (3, "writes into its inputs"),
    "views": (0, "PASSED"),
    "garbage": (0, "PASSED"),
    "numpy_errors": (1, "FAILED"),
    "activate_none": (0, "PASSED"),
    "make_none": (3, "while it was activated"),
    "inputs_none": (3, "describes its inputs by NoneType instead of TensorMetadata"),
    "inputs_list": (3, "describes its inputs by list instead of TensorMetadata"),
    "inputs_dict": (3, "describes its inputs by dict instead of TensorMetadata"),
    "inputs_other": (3, "'x'"),
    "odd_notes": (3, "NoneType"),
}

#: Mode -> what is said; all of them end a call, and with it the backend's part in the run.
ENDINGS = {
    "exit": "SystemExit: 0",
    "exit_text": "SystemExit: goodbye",
    "panic": "PanicException: the Rust side panicked",
    "generator_exit": "GeneratorExit",
    "cancelled": "CancelledError: cancelled",
    "stop": "StopIteration",
    "memory": "MemoryError",
    "recursion": "RecursionError",
    "unspeakable": "its text cannot be had",
    "huge": "(5000000 characters)",
}


def spread(text: str) -> str:
    """Return printed text in one line, whatever the width it was wrapped to."""
    return " ".join(text.split())


@pytest.fixture
def versus(polycmp, hostile, monkeypatch):
    """Compare the hostile backend with the reference."""
    monkeypatch.setenv("COLUMNS", "400")

    def run(mode: str, *words: object):
        # By an input of its own, what spoils the inputs of those after it shows.
        done = polycmp("run", hostile, "-b", f"hostile:mode={mode}", "-b", "onnx", "--iterations", 3, *words)
        assert "fault of polycmp itself" not in done.err
        return done.status, spread(done.out + done.err)

    return run


@pytest.mark.parametrize(("mode", "pace"), each_once(OUTPUTS, [(), ("--sequential-runners",)]), ids=spelled)
def test_what_comes_back_is_looked_at(versus, mode, pace):
    status, said = versus(mode, *pace)
    assert (status, OUTPUTS[mode][1] in said) == (OUTPUTS[mode][0], True), said


#: Modes tried in a worker, too.
WORKERS = ["honest", "off", "list", "nested", "none", "number_name", "generator", "big_endian", "big_endian_off"]
WORKERS += ["agreeable", "deep", "flattering", "write_hard", "write_soft", "write_flag", "views", "garbage", "late"]
WORKERS += ["inputs_list", "make_none", "odd_notes"]
#: One for each way in which answers may be hard to hand on; the others are tried with the corpora.
FEW = {"honest", "nested", "big_endian", "write_hard", "views", "make_none"}


@pytest.mark.parametrize(
    "mode", [mode if mode in FEW else pytest.param(mode, marks=pytest.mark.corpus) for mode in WORKERS]
)
def test_a_worker_gives_the_same_answers(versus, mode):
    status, said = versus(f"{mode},python={sys.executable}")
    assert (status, OUTPUTS[mode][1] in said) == (OUTPUTS[mode][0], True), said


@pytest.mark.parametrize(("stage", "mode"), each_once(STAGES, ENDINGS))
def test_what_ends_a_call_is_the_backends_failure(versus, mode, stage):
    status, said = versus(f"{mode},when={stage}")
    assert status == 3
    assert ENDINGS[mode] in said
    assert f"hostile:mode={mode}" in said
    assert len(said) < 20_000


@pytest.mark.parametrize(
    ("mode", "stage"),
    [
        *(("exit", "make"), ("panic", "infer")),
        *(
            pytest.param(*ending, marks=pytest.mark.corpus)
            for ending in (("panic", "make"), ("exit", "infer"), ("panic", "deactivate"), ("exit", "deactivate"))
        ),
    ],
)
def test_what_ends_a_call_in_a_worker_is_the_backends_failure(versus, mode, stage):
    status, said = versus(f"{mode},when={stage},python={sys.executable}")
    assert status == 3
    assert ENDINGS[mode] in said


@pytest.mark.parametrize("mode", ["exit", "panic", "memory"])
def test_the_others_go_on_where_one_fails_late(versus, mode):
    status, said = versus(f"{mode},when=second")
    assert status == 3
    assert ENDINGS[mode] in said
    assert "in iteration 1" in said


def test_an_interrupt_stays_an_interrupt(versus):
    assert versus("interrupt")[0] == 130


@pytest.mark.parametrize("mode", ["surrogate", "control"])
def test_any_text_of_an_error_is_told(versus, mode):
    status, said = versus(mode)
    assert status == 3
    assert "RuntimeError" in said


class TestOneAfterTheOther:
    """What one backend does to what the next one gets."""

    def test_two_that_share_a_buffer_are_not_compared_with_themselves(self, polycmp, hostile):
        pair = ("-b", "hostile:mode=shared,seed=1", "-b", "hostile:mode=shared,seed=2")
        for pace in ((), ("--sequential-runners",)):
            done = polycmp("run", hostile, *pair, "--iterations", 2, *pace)
            assert done.status == 1, done.out
        streaming = polycmp("run", hostile, *pair)
        assert "puts its outputs into the same memory as" in spread(streaming.out + streaming.err)

    def test_three_that_share_a_buffer_are_right_where_they_are_equal(self, polycmp, hostile):
        same = ["-b", "hostile:mode=shared"] * 3
        done = polycmp("run", hostile, *same, "-b", "onnx", "--iterations", 2)
        assert done.status == 0, done.out

    def test_nothing_is_said_of_those_that_do_not_share(self, polycmp, hostile):
        done = polycmp("run", hostile, "-b", "hostile:mode=views", "-b", "hostile:mode=views", "-b", "onnx")
        assert done.status == 0
        assert "same memory" not in spread(done.out + done.err)

    @pytest.mark.parametrize("mode", ["write_soft", "write_hard", "write_flag", "write_out"])
    @pytest.mark.parametrize("suffix", [".npz", ".json", ""])
    def test_saved_inputs_are_those_that_were_meant(self, polycmp, hostile, mode, suffix):
        from polycmp.results.files import open_inputs

        polycmp("run", hostile, "-b", f"hostile:mode={mode}", "-b", "onnx", "--save-inputs", f"in{suffix}")
        [feed] = open_inputs([f"in{suffix}"])
        assert (feed["x"] != 0).any()


class TestPartByPart:
    """The same where a model is cut into parts, whose outputs are handed on."""

    def test_two_that_share_a_buffer(self, polycmp, many):
        pair = ("-b", "hostile_parts:mode=shared,seed=1", "-b", "hostile_parts:mode=shared,seed=2")
        done = polycmp("run", many, *pair)
        assert done.status == 3
        assert "puts its outputs into the same memory as" in spread(done.out)
        assert "--use-subprocess" in done.out
        assert polycmp("run", many, *pair, "--sequential-runners").status == 1

    def test_one_that_says_wrongly_that_its_outputs_stay(self, polycmp, many):
        words = ("-b", "hostile_parts:mode=stays", "-b", "onnx", "--max-memory", "1B")
        done = polycmp("run", many, *words)
        assert done.status == 3
        assert "although it says that these stay valid" in spread(done.out)

    def test_nothing_is_said_of_probing_where_nothing_could_be_seen(self, polycmp, deep):
        words = ("-b", "hostile_parts:mode=only_whole", "-b", "hostile_parts:mode=only_whole")
        done = polycmp("locate", deep, *words)
        assert done.status == 3
        assert "probing did not move" not in spread(done.out)


class TestFilesOfFailedRuns:
    @pytest.mark.parametrize("target", ["g.npz", "g.json", "g.safetensors", "g"])
    def test_a_run_that_failed_leaves_no_file(self, polycmp, hostile, target):
        done = polycmp("run", hostile, "-b", "hostile:mode=memory", "--save-outputs", target)
        assert done.status == 3
        assert not Path(target).exists()
        assert f"{target} is not written" in spread(done.out + done.err)

    def test_what_was_there_before_stays(self, polycmp, hostile):
        assert polycmp("run", hostile, "-b", "onnx", "--save-outputs", "g.npz").status == 0
        before = Path("g.npz").read_bytes()
        assert polycmp("run", hostile, "-b", "hostile:mode=memory", "--save-outputs", "g.npz").status == 3
        assert Path("g.npz").read_bytes() == before

    def test_inputs_that_nobody_asked_for_are_not_saved(self, polycmp, hostile):
        words = ("-b", "hostile:mode=panic,when=activate", "--save-inputs", "i.npz")
        assert polycmp("run", hostile, *words).status == 3
        assert not Path("i.npz").exists()

    @pytest.mark.parametrize("target", ["g.npz", "g.json", "g.safetensors", "g"])
    def test_a_file_that_lacks_a_run_says_so(self, polycmp, hostile, target):
        done = polycmp("run", hostile, "-b", "hostile:mode=memory", "-b", "onnx", "--save-outputs", target)
        assert done.status == 3
        assert f"{target} lacks hostile:mode=memory" in spread(done.out + done.err)

    def test_a_file_that_lacks_iterations_says_so(self, polycmp, hostile):
        words = ("-b", "hostile:mode=memory,when=second", "-b", "onnx", "--iterations", 3, "--save-outputs", "g.npz")
        done = polycmp("run", hostile, *words)
        assert "g.npz holds 1 of 3 iterations of hostile" in spread(done.out + done.err)

    @pytest.mark.parametrize("target", ["g.npz", "g.json", "g.safetensors"])
    def test_a_file_without_runs_is_no_reference(self, polycmp, hostile, target):
        write_without_runs(Path(target))
        done = polycmp("run", hostile, "-b", "hostile:mode=off", "--load-outputs", target)
        assert done.status == 3
        assert "holds no runs" in done.err

    def test_an_empty_folder_is_no_reference(self, polycmp, hostile):
        Path("g").mkdir()
        assert polycmp("run", hostile, "-b", "hostile:mode=off", "--load-outputs", "g").status == 3

    def test_byte_order_survives_saving(self, polycmp, hostile):
        for words in ((), ("--use-subprocess",)):
            for target in ("g.npz", "g.json", "g.safetensors"):
                done = polycmp("run", hostile, "-b", "hostile:mode=big_endian", "--save-outputs", target, *words)
                assert done.status == 0
                assert polycmp("run", hostile, "-b", "onnx", "--load-outputs", target).status == 0

    def test_the_same_file_twice_is_told(self, polycmp, hostile):
        assert polycmp("run", hostile, "-b", "onnx", "--save-outputs", "g.npz").status == 0
        done = polycmp("run", "--load-outputs", "g.npz", "./g.npz")
        assert "g.npz is loaded more than once" in spread(done.out + done.err)


def write_without_runs(path: Path) -> None:
    """Write what a run that failed used to leave."""
    from polycmp.results.formats import OUTPUTS, Formats

    formats = Formats()
    with path.open("wb") as file:
        formats.writer(formats.find(path), file, OUTPUTS, path).finish()


class TestValidation:
    def test_raw_outputs_are_validated(self, polycmp, hostile):
        words = ("-b", "hostile:mode=nan", "-b", "onnx", "--postprocess", "top-1", "--compare", "indices", "--validate")
        done = polycmp("run", hostile, *words)
        assert done.status == 1
        assert "NaN" in done.out

    def test_a_script_that_replaces_nan_hides_none(self, polycmp, hostile):
        body = "return {name: (array == array) * 0 for name, array in outputs.items()}"
        Path("post.py").write_text(f"def postprocess_outputs(outputs):\n    {body}\n")
        words = ("-b", "hostile:mode=nan", "-b", "onnx", "--postprocess-func-script", "post.py")
        assert polycmp("run", hostile, *words).status == 1
        assert polycmp("run", hostile, *words, "--validate").status == 1


class TestProcesses:
    """What only shows in a process of its own."""

    @pytest.mark.parametrize(
        "words", [(), pytest.param(("--use-subprocess",), marks=pytest.mark.corpus)], ids=["here", "worker"]
    )
    def test_threads_left_behind_do_not_keep_the_command(self, fresh, words):
        status, out, _ = fresh("run", "m.onnx", "-b", "hostile:mode=leak_thread", "-b", "onnx", *words)
        assert status == 0
        assert "PASSED" in out

    def test_a_child_left_behind_does_not_keep_the_command(self, fresh, tmp_path):
        pid = tmp_path / "pid"
        try:
            status, out, _ = fresh("run", "m.onnx", "-b", "hostile:mode=leak_child", "-b", "onnx", HOSTILE_PID=str(pid))
        finally:
            with suppress(ProcessLookupError, FileNotFoundError):
                os.kill(int(pid.read_text()), signal.SIGKILL)
        assert status == 0
        assert "PASSED" in out

    def test_what_is_registered_for_the_end_of_the_process_is_done(self, fresh):
        body = "import atexit\natexit.register(print, 'at the end')\n"
        Path("post.py").write_text(f"{body}def postprocess_outputs(outputs):\n    return outputs\n")
        status, out, _ = fresh("run", "m.onnx", "-b", "onnx", "-b", "onnx", "--postprocess-func-script", "post.py")
        assert status == 0
        assert out.splitlines()[-1] == "at the end"

    @pytest.mark.parametrize(
        "mode", ["panic", *(pytest.param(mode, marks=pytest.mark.corpus) for mode in ("exit", "generator_exit"))]
    )
    def test_no_trace_and_no_verdict(self, fresh, mode):
        status, out, err = fresh("run", "m.onnx", "-b", f"hostile:mode={mode}", "-b", "onnx")
        assert status == 3
        assert "Traceback" not in out + err
        assert "PASSED" not in out

    def test_garbage_does_not_look_like_a_result_of_a_worker(self, polycmp, hostile):
        done = polycmp("run", hostile, "-b", f"hostile:mode=garbage,python={sys.executable}", "-b", "onnx")
        assert done.status == 0
        assert "garbage on" not in done.out
        assert "raw garbage" not in done.out

    @pytest.mark.parametrize(
        "mode",
        [
            *("close_descriptors", "os_exit", "recursion"),
            *(pytest.param(mode, marks=pytest.mark.corpus) for mode in ("chdir", "monkeypatch")),
        ],
    )
    def test_a_worker_keeps_damage_to_itself(self, polycmp, hostile, mode):
        words = ("-b", f"hostile:mode={mode},python={sys.executable}", "-b", "hostile:mode=off", "-b", "onnx")
        done = polycmp("run", hostile, *words)
        assert done.status == (3 if mode in {"os_exit", "recursion"} else 1), done.out + done.err
        assert re.search(r"^(FAILED|ERROR): ", done.out, re.MULTILINE), done.out

    @pytest.mark.parametrize("stage", ["infer", "deactivate"])
    def test_a_worker_that_hangs_is_ended(self, polycmp, hostile, stage):
        words = ("-b", f"hostile:mode=hang,when={stage},python={sys.executable}", "-b", "onnx", "--timeout", 2)
        done = polycmp("run", hostile, *words)
        assert done.status == 3
        assert "hung" in done.out + done.err

    @pytest.mark.corpus  # tests of safety close descriptors in all ways
    def test_closed_stdin_with_workers(self, fresh):
        words = ("run", "m.onnx", "-b", "hostile", "-b", "onnx", "--use-subprocess")
        status, out, err = fresh(*words, closed="<&-")
        assert status == 0, err
        assert "PASSED" in out
