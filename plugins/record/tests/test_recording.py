"""Programs that are recorded: what is kept, what they notice of it, and what happens where nothing can be kept."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import signal
import subprocess
import sys

import numpy as np
import pytest


def test_what_was_recorded_is_replayed_to_the_bit_by_the_command_that_is_shown(place):
    assert place.record("app.py", "1", "2", "3") == 0
    assert place.out == "1 (2, 4)\n2 (2, 4)\n3 (2, 4)\n"
    assert place.err.count("a line of the program\n") == 3
    assert "recorded 3 calls of toy.onnx by onnxruntime" in place.err
    (command,) = [line.removeprefix("  next: ") for line in place.err.splitlines() if line.startswith("  next: ")]
    assert place.polycmp(*shlex.split(command)[1:], "--atol", "0", "--rtol", "0") == 0
    assert "2 outputs within tolerance" in place.out
    assert sorted(path.name for path in place.folder.iterdir()) == ["app.py", "calls", "toy.onnx"]
    assert [path.name for path in (place.folder / "calls").iterdir()] == ["toy"]


def test_the_inputs_are_those_of_the_program_and_the_model_is_described(place):
    assert place.record("app.py", "7") == 0
    folder = place.folder / "calls/toy"
    with np.load(folder / "inputs/0000000000.npz") as saved:
        arrays = [saved[name] for name in saved.files if name != "polycmp.json"]
    assert np.array_equal(arrays[0], np.random.default_rng(7).random((2, 8), dtype=np.float32))
    facts = json.loads((folder / "model.json").read_text())
    assert facts["model"] == str(place.folder / "toy.onnx")
    assert facts["sha256"] == hashlib.sha256((place.folder / "toy.onnx").read_bytes()).hexdigest()
    assert facts["library"].startswith("onnxruntime ")
    assert facts["options"]["providers"] == ["CPUExecutionProvider"]
    assert (facts["inputs"], facts["outputs"], facts["calls"]) == (["x"], ["y", "z"], 1)


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ((), 4),
        (("--duplicates",), 6),
        (("--every", "2"), 3),
        (("--max-calls", "3"), 3),
        (("--max-size", "300"), 2),
    ],
)
def test_calls_are_kept_once_and_within_limits(place, options, kept):
    assert place.record("app.py", "1", "1", "2", "3", "4", "1", options=options) == 0
    assert place.calls() == kept  # 128 bytes each
    assert place.out.count("\n") == 6


def test_a_program_keeps_its_modules_path_environment_and_status(place, monkeypatch):
    place.write("sitecustomize.py", "print('of the program')\n")
    place.write(
        "app.py",
        "import os, runpy, sys, sitecustomize\n"
        "print(sys.argv[1:], [path for path in sys.path if 'record' in path and 'startup' in path])\n"
        "print(sitecustomize.__file__, os.environ.get('TQDM_DISABLE'), type(__spec__.loader).__name__)\n"
        "import onnxruntime\n"
        "print(type(onnxruntime.__loader__).__name__, vars(onnxruntime.__loader__).keys() - {'name', 'path'})\n"
        "sys.exit(7)\n",
    )
    monkeypatch.setenv("PYTHONPATH", str(place.folder))
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    assert place.record("-m", "app", "--help", "-x") == 7
    assert place.out.splitlines() == [
        "of the program",
        "['--help', '-x'] []",
        f"{place.folder / 'sitecustomize.py'} None SourceFileLoader",
        "SourceFileLoader set()",
    ]
    assert "no call of a model was seen" in place.err


def test_all_processes_and_threads_of_a_program_are_recorded_together(place):
    place.write(
        "several.py",
        "import multiprocessing, runpy, sys, threading\n"
        "def work(seeds):\n"
        "    sys.argv[1:] = seeds\n"
        "    runpy.run_path('app.py')\n"
        "if __name__ == '__main__':\n"
        "    context = multiprocessing.get_context(sys.argv[1])\n"
        "    work(['1', '2'])\n"
        "    for seeds in (['1', '3'], ['3', '4', '5', '6']):\n"
        "        process = context.Process(target=work, args=(seeds,))\n"
        "        process.start()\n"
        "        process.join()\n"
        "        assert process.exitcode == 0\n",
    )
    method = "fork" if hasattr(os, "fork") else "spawn"
    assert place.record("several.py", method, options=("--max-calls", "5")) == 0
    assert place.calls() == 5
    assert "recorded 5 calls (--max-calls) of toy.onnx" in place.err


def test_bound_inputs_some_outputs_lists_and_models_in_memory(place):
    place.write(
        "app.py",
        "import numpy as np, onnxruntime as ort\n"
        "content = open('toy.onnx', 'rb').read()\n"
        "session = ort.InferenceSession(content, providers=['CPUExecutionProvider'])\n"
        "x = np.ones((2, 8), np.float32)\n"
        "binding = session.io_binding()\n"
        "for factor in (1, 2):\n"
        "    binding.bind_cpu_input('x', x * factor)\n"
        "    binding.bind_output('y')\n"
        "    binding.bind_output('z')\n"
        "    session.run_with_iobinding(binding)\n"
        "session.run_with_ort_values(['y', 'z'], {'x': ort.OrtValue.ortvalue_from_numpy(x * 3)})\n"
        "session.run(output_names=None, input_feed={'x': [[0.5] * 8]})\n"
        "session.run(['z'], {'x': x * 4})\n",
    )
    assert place.record("app.py") == 0
    assert (place.calls("model"), place.calls("model-2")) == (4, 1)
    content = (place.folder / "calls/model/model.onnx").read_bytes()
    assert content == (place.folder / "toy.onnx").read_bytes()
    commands = [line.removeprefix("  next: ") for line in place.err.splitlines() if line.startswith("  next: ")]
    assert len(commands) == 2
    for command in commands:
        assert place.polycmp(*shlex.split(command)[1:], "--atol", "0", "--rtol", "0") == 0
        assert "converted" not in place.err


def test_a_call_that_cannot_be_kept_is_told_and_the_program_goes_on(place):
    place.write(
        "app.py",
        "import shutil, sys\n"
        "import numpy as np, onnxruntime\n"
        "session = onnxruntime.InferenceSession('toy.onnx')\n"
        "shutil.rmtree('calls/.recording')\n"
        "for value in (1, 2):\n"
        "    print(session.run(['z'], {'x': np.full((1, 8), value, np.float32)})[0].shape)\n",
    )
    assert place.record("app.py") == 3
    assert place.out == "(1, 4)\n(1, 4)\n"
    assert place.err.count("polycmp record: not all calls can be recorded: FileNotFoundError") == 1
    assert "Traceback" not in place.err


@pytest.mark.parametrize(
    ("program", "status", "said"),
    [
        ((sys.executable, "-c", "pass"), 3, "no call of onnxruntime, openvino or litert was seen"),
        ((sys.executable, "-c", "raise SystemExit(5)"), 5, "no call of onnxruntime, openvino or litert was seen"),
        ((sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"), 137, "was seen"),
        (("no-such-program",), 2, "cannot start no-such-program"),
        (("app.py",), 2, "polycmp record -- python app.py"),
        ((), 2, "polycmp record -o calls -- python app.py"),
    ],
)
def test_where_nothing_is_recorded_the_reason_is_said_and_no_folder_stays(place, program, status, said):
    assert place.polycmp("record", "-o", "calls", "--", *program) == status
    assert said in place.err
    assert not (place.folder / "calls").exists()


def test_options_of_the_program_are_never_taken_for_those_of_the_command(place):
    assert place.polycmp("record", sys.executable, "app.py", "--every", "2") == 2
    assert f"polycmp record -- {sys.executable} app.py --every 2" in place.err
    place.write("app.py", "import sys; print(sys.argv[1:])")
    place.record("app.py", "--max", "2", "--every", "--", "-o", "x")
    assert place.out == "['--max', '2', '--every', '--', '-o', 'x']\n"


def test_a_folder_that_holds_something_is_refused_before_the_program_runs(place):
    (place.folder / "calls").mkdir()
    place.write("calls/mine.txt", "mine")
    assert place.record("app.py", "1") == 3
    assert place.out == ""
    assert "rm -r calls" in place.err
    assert [path.name for path in (place.folder / "calls").iterdir()] == ["mine.txt"]


def test_calls_stay_where_they_are_until_they_can_be_taken_over(place):
    program = (place.folder / "app.py").read_text()
    damage = (
        "import pathlib\n"
        "second = sorted(pathlib.Path('calls/.recording').glob('*/*.npy'))[1]\n"
        "second.write_bytes(b'')\n"
    )
    place.write("app.py", program + damage)
    assert place.record("app.py", "1", "2", "3") == 3
    assert "calls are not taken over yet" in place.err
    assert "is damaged" in place.err
    assert "polycmp record --take-over calls" in place.err
    assert place.record("app.py", "4") == 3
    assert "polycmp record --take-over calls" in place.err
    (damaged,) = (file for file in (place.folder / "calls/.recording").glob("*/*.npy") if not file.stat().st_size)
    damaged.unlink()
    assert place.polycmp("record", "--take-over", "calls") == 0
    assert "recorded 2 calls of toy.onnx" in place.err
    (command,) = [line.removeprefix("  next: ") for line in place.err.splitlines() if line.startswith("  next: ")]
    assert place.polycmp(*shlex.split(command)[1:], "--atol", "0", "--rtol", "0") == 0
    assert [path.name for path in (place.folder / "calls").iterdir()] == ["toy"]


@pytest.mark.skipif(sys.platform != "linux", reason="this system does not end processes with their parent")
def test_a_recording_that_is_killed_ends_its_program_and_loses_no_call(place):
    program = (place.folder / "app.py").read_text()
    ending = (
        "import os, pathlib, signal, time\n"
        "def end(*_):\n    pathlib.Path('ended').touch()\n    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "os.kill(os.getppid(), signal.SIGKILL)\n"
        "while True:\n    time.sleep(0.01)\n"
    )
    place.write("app.py", program + ending)
    words = [sys.executable, "-m", "polycmp", "record", "--", sys.executable, "app.py", "1", "2"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # ends when the program has, too
    assert done.returncode == 3
    assert (place.folder / "ended").exists()
    assert place.polycmp("record", "--take-over", "calls") == 0
    assert "recorded 2 calls of toy.onnx" in place.err
    assert place.calls() == 2


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--take-over", "calls"), 3, "there is no .recording in this folder"),
        (("--take-over", "calls", "-o", "other"), 2, "polycmp record --take-over calls"),
        (("--take-over", "calls", "--", "python", "app.py"), 2, "polycmp record --take-over calls"),
    ],
)
def test_taking_over_says_what_it_cannot(place, words, status, said):
    assert place.polycmp("record", *words) == status
    assert said in place.err


@pytest.mark.skipif(os.name == "nt", reason="this system has no such locks")
def test_what_is_being_recorded_is_not_taken_over(place):
    place.write(
        "app.py",
        "import subprocess, sys\n"
        "words = [sys.executable, '-m', 'polycmp', 'record', '--take-over', 'calls']\n"
        "done = subprocess.run(words, capture_output=True, text=True)\n"
        "print(done.returncode, done.stderr)\n",
    )
    place.record("app.py")
    assert place.out.startswith("3 ")
    assert "another process records here" in place.out


@pytest.mark.parametrize(
    ("size", "seeds", "status", "said"),
    [
        ("300", "123", 0, "a call of toy.onnx takes 128 bytes, and --max-size 300 leaves 44 bytes"),
        ("100", "1", 3, "a call of toy.onnx takes 128 bytes, and --max-size 100 leaves 100 bytes"),
    ],
)
def test_calls_that_are_too_large_are_told_with_their_size(place, size, seeds, status, said):
    assert place.record("app.py", *seeds, options=("--max-size", size)) == status
    assert said in place.err
    assert "no call of a model was seen" not in place.err


@pytest.mark.skipif(os.name == "nt", reason="this system has no such limits")
def test_a_file_that_cannot_grow_is_told_in_the_words_of_the_system(place):
    place.write(
        "app.py",
        "import resource\n"
        "import numpy as np, onnxruntime\n"
        "session = onnxruntime.InferenceSession('toy.onnx')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "for rows in (1, 1000):\n"
        "    session.run(None, {'x': np.ones((rows, 8), np.float32)})\n",
    )
    assert place.record("app.py") == 0
    assert place.calls() == 1
    assert place.err.count("not all calls were recorded: OSError: [Errno 27] File too large") == 1


def test_a_recording_within_a_recording_leaves_both_what_the_program_did(place):
    inner = (sys.executable, "-m", "polycmp", "record", "-o", "inner", "--max-calls", "1", "--", sys.executable)
    assert place.polycmp("record", "-o", "calls", "--", *inner, "app.py", "1", "2") == 0
    assert place.out == "1 (2, 4)\n2 (2, 4)\n"
    assert "recorded 1 call (--max-calls) of toy.onnx" in place.err
    assert "recorded 2 calls of toy.onnx" in place.err
    assert place.calls() == 2


@pytest.mark.skipif(not hasattr(signal, "pause"), reason="this system has no such signals")
def test_a_signal_is_passed_on_and_what_the_program_had_given_is_kept(place):
    program = (place.folder / "app.py").read_text()
    place.write("app.py", program + "import os, signal\nos.kill(os.getppid(), signal.SIGTERM)\nsignal.pause()\n")
    words = [sys.executable, "-m", "polycmp", "record", "--", sys.executable, "app.py", "1", "2"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 128 + signal.SIGTERM
    assert "recorded 2 calls of toy.onnx" in done.stderr
    assert place.calls() == 2
