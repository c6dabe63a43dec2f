"""Running suites: verdicts, limits, interruptions, and what lies on disk afterwards."""

from __future__ import annotations

import datetime
import json
import os
import re
import signal
import subprocess
import time
import xml.etree.ElementTree as ET
from contextlib import suppress
from pathlib import Path

import pytest

HEAD = '[defaults]\nbackend = ["onnxrt", "onnx"]\n'
DIFFER = 'backend = ["onnxrt", "onnxrt:model=two.onnx"]\n'
LOADER = 'data-loader-script = "hang.py"\n'


def case(name: str, more: str = "", model: str = "one.onnx") -> str:
    return f'[[case]]\nname = "{name}"\nmodel = "{model}"\n{more}\n'


def wait_for(what, seconds: float = 60.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come")


def processes_in(folder: Path) -> list[int]:
    """Return the processes that work in a folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            state = (place.parent / "stat").read_text().rpartition(")")[2].split()[0]
            if place.readlink() == folder and state != "Z":
                found.append(int(place.parent.name))
    return found


def test_all_passed_is_0(suite):
    suite.write(HEAD + '[[case]]\nmodel = "*.onnx"\n')
    done = suite.process("suite.toml", "-j", 2, status=0)
    assert "PASSED: 2 cases: 2 passed" in done.stdout
    assert "[2/2] ok" in done.stderr
    assert {name: item["state"] for name, item in suite.results().items()} == {"one": "passed", "two": "passed"}
    assert suite.results()["one"]["command_line"] == "polycmp run one.onnx -b onnxrt -b onnx"


def test_a_difference_is_1_and_names_the_case_and_the_output(suite):
    suite.write(HEAD + case("good") + case("bad", DIFFER))
    done = suite("suite.toml", "--report", "r.json", "r.xml", "r.md", status=1)
    assert "FAILED: 2 cases: 1 passed, 1 failed" in done.stdout
    assert "bad" in done.stdout
    assert "y:" in suite.results()["bad"]["reason"]
    report = json.loads((suite.folder / "r.json").read_text())
    assert (report["verdict"], report["counts"]["failed"], len(report["cases"])) == ("failed", 1, 2)
    root = ET.parse(suite.folder / "r.xml").getroot()
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    assert root.find("testsuite").get("name") == "one.onnx"
    assert root.find("testsuite/properties/property").get("value").startswith("sha256 ")
    assert "opset 17" in root.find("testsuite/properties/property").get("value")
    assert root.find("testsuite/testcase").get("classname") == "one.onnx"
    assert "| ❌ | bad |" in (suite.folder / "r.md").read_text()


def test_what_cannot_be_compared_is_3_and_the_others_go_on(suite):
    (suite.folder / "broken.onnx").write_bytes(b"this is no model")
    suite.write(HEAD + case("broken", model="broken.onnx") + case("bad", DIFFER) + case("good"))
    done = suite("suite.toml", status=3)
    assert "ERROR" in done.stdout
    states = {name: item["state"] for name, item in suite.results().items()}
    assert states == {"broken": "error", "bad": "failed", "good": "passed"}
    assert "broken.onnx" in suite.results()["broken"]["reason"]


def test_known_failures_are_strict(suite):
    suite.write(HEAD + case("bad", DIFFER + 'expected-failure = { reason = "bug 7" }'))
    done = suite("suite.toml", status=0)
    assert "1 known to fail" in done.stdout
    assert suite.results()["bad"]["known"] == "bug 7"

    suite.write(HEAD + case("good", 'expected-failure = { reason = "bug 7" }'))
    done = suite("suite.toml", status=1)
    assert "it passes, and a failure was expected" in done.stderr


def test_a_known_failure_is_one_until_its_day_and_of_its_kind(suite):
    yesterday, tomorrow = (datetime.date.today() + datetime.timedelta(days=days) for days in (-1, 1))
    suite.write(
        HEAD
        + case("over", DIFFER + f'expected-failure = {{ reason = "bug 7", until = {yesterday} }}')
        + case("still", DIFFER + f'expected-failure = {{ reason = "bug 8", until = {tomorrow} }}')
        + case("other", DIFFER + 'expected-failure = { reason = "bug 9", verdict = "error" }')
    )
    suite("suite.toml", status=1)
    results = suite.results()
    assert {name: item["state"] for name, item in results.items()} == {
        "over": "failed",
        "still": "passed",
        "other": "failed",
    }
    assert f"expected until {yesterday}, which has passed: bug 7" in results["over"]["reason"]


def test_a_case_that_hangs_is_ended_with_everything_it_started(suite, hang):
    suite.write(HEAD + case("slow", LOADER + "timeout = 3") + case("good"))
    suite.apart("suite.toml", status=3)
    assert suite.results()["slow"]["reason"] == "it took longer than 3 s"
    assert suite.results()["good"]["state"] == "passed"
    assert processes_in(suite.folder) == []


def test_a_case_that_crashes_is_a_result(suite):
    (suite.folder / "crash.py").write_text("import os\ndef load_data():\n    os.abort()\n    yield {}\n")
    suite.write(HEAD + case("crash", 'data-loader-script = "crash.py"') + case("good"))
    suite.apart("suite.toml", status=3)
    result = suite.results()["crash"]
    assert (result["state"], result["status"]) == ("error", 3)
    assert "SIGABRT" in result["reason"]


def test_what_could_not_be_compared_is_tried_again_and_a_difference_is_not(suite):
    (suite.folder / "luck.py").write_text(
        "import os\n"
        "from pathlib import Path\n"
        "import numpy as np\n"
        "def load_data():\n"
        "    tries = Path('tries')\n"
        "    count = int(tries.read_text()) + 1 if tries.exists() else 1\n"
        "    tries.write_text(str(count))\n"
        "    if count < 3:\n"
        "        os.abort()\n"
        "    yield {'x': np.ones((1, 4), np.float32)}\n"
    )
    suite.write(
        HEAD + case("luck", 'data-loader-script = "luck.py"\nretries = 2') + case("bad", DIFFER + "retries = 2")
    )
    done = suite.apart("suite.toml", status=1)
    assert done.stderr.count("again") == 2
    assert suite.results()["luck"]["attempts"] == 3
    assert suite.results()["bad"]["attempts"] == 1


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the memory of a process is read from /proc")
def test_memory_beyond_the_limit_is_a_result(suite):
    (suite.folder / "big.py").write_text(
        "import time\n"
        "import numpy as np\n"
        "def load_data():\n"
        "    kept = np.ones(1 << 27)\n"
        "    time.sleep(60)\n"
        "    yield {'x': kept[:4]}\n"
    )
    suite.write(HEAD + case("big", 'data-loader-script = "big.py"\nmemory = "600M"'))
    suite.process("suite.toml", status=3)
    assert "more than the 600 MiB it may" in suite.results()["big"]["reason"]
    assert suite.results()["big"]["seconds"] < 50


def test_needs_that_are_not_there_are_skipped_with_a_reason(suite):
    suite.write(HEAD + case("gpu", 'needs = ["trt86"]') + case("numpy", 'needs = ["numpy"]'))
    suite("suite.toml", status=0)
    results = suite.results()
    assert (results["gpu"]["state"], results["numpy"]["state"]) == ("skipped", "passed")
    assert "needs trt86" in results["gpu"]["reason"]
    suite("suite.toml", "--provide", "trt86", status=0)
    assert suite.results()["gpu"]["state"] == "passed"


def test_only_skipped_cases_are_no_success(suite):
    suite.write(HEAD + case("gpu", 'needs = ["trt86"]'))
    suite("suite.toml", status=3)


def test_gpus_are_given_to_one_case_at_a_time(suite):
    (suite.folder / "device.py").write_text(
        "import os\n"
        "import time\n"
        "from pathlib import Path\n"
        "import numpy as np\n"
        "def load_data():\n"
        "    name = 'gpu-' + (os.environ['CUDA_VISIBLE_DEVICES'] or 'none')\n"
        "    os.mkdir(name)\n"
        "    time.sleep(0.5)\n"
        "    os.rmdir(name)\n"
        "    Path(name + '.txt').touch()\n"
        "    yield {'x': np.ones((1, 4), np.float32)}\n"
    )
    loader = 'data-loader-script = "device.py"\n'
    suite.write(
        HEAD
        + case("many", loader + "gpus = 1\nmatrix = { atol = [0.1, 0.02, 0.03] }")
        + case("none", loader)
        + case("too-many", "gpus = 3")
    )
    suite.apart("suite.toml", "-j", 4, "--gpus", "5,7", status=3)
    results = suite.results()
    assert [name for name, item in results.items() if item["state"] != "passed"] == ["too-many"]
    assert "it needs 3 GPUs, and there are 2" in results["too-many"]["reason"]
    names = {path.name for path in suite.folder.glob("gpu-*")}
    assert names == {"gpu-5.txt", "gpu-7.txt", "gpu-none.txt"}


def test_stopping_at_the_first_failure_and_beginning_with_failures(suite):
    suite.write(HEAD + case("first") + case("bad", DIFFER) + case("last"))
    done = suite("suite.toml", "-x", status=1)
    assert set(suite.results()) == {"first", "bad"}
    assert "1 not run" in done.stdout
    done = suite("suite.toml", "--failed-first", "-x", status=1)
    assert set(suite.results()) == {"bad"}


def test_resuming_runs_what_has_not_ended_or_has_changed(suite):
    text = HEAD + case("first") + case("bad", DIFFER) + case("last")
    suite.write(text)
    suite("suite.toml", "-x", status=1)
    run = suite.latest.resolve()
    before = suite.results()
    done = suite("suite.toml", "--resume", status=1)
    assert "[1/1] ok" in done.stderr
    assert suite.latest.resolve() == run
    assert {name: suite.results()[name] for name in before} == before
    assert "3 cases: 2 passed, 1 failed" in done.stdout
    suite.write(text.replace('name = "last"', 'name = "last"\natol = 1e-4'))
    done = suite("suite.toml", "--resume", status=1)
    assert "[1/1] ok      last" in done.stderr
    assert "nothing was run" not in done.stderr


def test_there_must_be_something_to_resume(suite):
    suite.write(HEAD + case("one"))
    assert "there is no run to resume" in suite("suite.toml", "--resume", status=2).stderr


def start(suite, *words) -> subprocess.Popen:
    return subprocess.Popen(
        suite.command(*words), cwd=suite.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.corpus)])
def test_an_interrupted_suite_reports_ends_its_children_and_goes_on(suite, hang, number):
    suite.write(HEAD + case("good") + case("hang", LOADER) + case("last"))
    process = start(suite, "suite.toml", "--report", "r.xml")
    wait_for((suite.folder / "begun").exists)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, out + err
    assert "Traceback" not in err
    assert "ERROR: interrupted; 3 cases: 1 passed, 2 not run" in out
    assert processes_in(suite.folder) == []
    assert ET.parse(suite.folder / "r.xml").getroot().get("tests")
    assert (suite.latest / "index.html").exists()
    assert set(suite.results()) == {"good"}
    (suite.folder / "hang.py").write_text(
        "import numpy as np\ndef load_data():\n    yield {'x': np.ones((1, 4), np.float32)}\n"
    )
    done = suite("suite.toml", "--resume", status=0)
    assert "[2/2] ok" in done.stderr
    assert "3 cases: 3 passed" in done.stdout


def test_a_driver_that_is_killed_loses_nothing_and_leaves_no_process(suite, hang):
    suite.write(HEAD + case("good") + case("hang", LOADER) + case("last"))
    process = start(suite, "suite.toml")
    wait_for((suite.folder / "begun").exists)
    process.kill()
    process.wait()
    wait_for(lambda: processes_in(suite.folder) == [])
    assert suite.results()["good"]["state"] == "passed"
    (suite.folder / "hang.py").write_text(
        "import numpy as np\ndef load_data():\n    yield {'x': np.ones((1, 4), np.float32)}\n"
    )
    done = suite("suite.toml", "--resume", status=0)
    assert "3 cases: 3 passed" in done.stdout


def test_a_worker_that_is_killed_is_an_error_of_its_case_alone(suite, hang):
    suite.write(HEAD + case("hang", LOADER) + case("good"))
    process = start(suite, "suite.toml")
    wait_for((suite.folder / "begun").exists)
    os.kill(max(processes_in(suite.folder)), signal.SIGKILL)  # the youngest one: the case's own
    _out, _ = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "SIGKILL" in suite.results()["hang"]["reason"]
    assert "lack of memory" in suite.results()["hang"]["reason"]
    assert suite.results()["good"]["state"] == "passed"


def test_a_half_written_result_does_not_count(suite):
    suite.write(HEAD + case("one"))
    suite("suite.toml", status=0)
    path = next(suite.latest.glob("cases/*/result.json"))
    path.write_text(path.read_text()[:40])
    assert "[1/1] ok" in suite("suite.toml", "--resume", status=0).stderr


def test_a_module_beside_the_suite_is_not_imported(suite):
    (suite.folder / "numpy.py").write_text("raise SystemExit('the wrong numpy')\n")
    suite.write(HEAD + case("one"))
    suite.process("suite.toml", status=0)


def test_github_is_told_once_by_the_suite(suite):
    suite.write(HEAD + case("good") + case("bad", DIFFER))
    environment = {**os.environ, "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(suite.folder / "summary.md")}
    done = subprocess.run(
        suite.command("suite.toml"), cwd=suite.folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.count("::error ") == 1
    assert re.search(r"::error file=[^,]*\.toml,line=\d+,title=[^:]*one\.onnx%3A ", done.stdout)
    summary = (suite.folder / "summary.md").read_text()
    assert summary.count("### polycmp") == 1
    assert "opset 17" in summary


def test_names_of_cases_can_be_read_however_long_the_backends_are(suite):
    folder = "a-folder-" * 12
    (suite.folder / folder).mkdir()
    (suite.folder / folder / "one.onnx").write_bytes((suite.folder / "one.onnx").read_bytes())
    backends = f'["onnxrt:model={folder}/one.onnx", "onnxrt"]'
    suite.write(HEAD + f'[[case]]\nmodel = "one.onnx"\nname = "the name of the case"\nbackends = {backends}\n')
    assert "the name of the case" in suite("suite.toml").stdout


def test_junit_has_the_time_of_each_case(suite):
    suite.write(HEAD + '[[case]]\nmodel = "one.onnx"\n[[case]]\nmodel = "two.onnx"\n')
    done = suite("suite.toml", "--report", "j.xml", status=0)
    root = ET.parse(suite.folder / "j.xml").getroot()
    times = {case.get("name"): float(case.get("time")) for case in root.iter("testcase")}
    assert times == pytest.approx({name: item["seconds"] for name, item in suite.results().items()}, abs=1e-3)
    assert [float(item.get("time")) for item in root] == pytest.approx(list(times.values()), abs=1e-3)
    assert "(0 us)" not in done.stderr


def test_what_is_skipped_took_no_time(suite):
    suite.write(HEAD + '[[case]]\nmodel = "one.onnx"\nneeds = ["no_such_module"]\n')
    assert "skipped one: needs" in suite("suite.toml").stderr
    assert suite("suite.toml", "--list").stderr.strip() == "1 case"
