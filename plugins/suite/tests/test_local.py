"""Running suites: verdicts, limits, interruptions, and what lies on disk afterwards."""

from __future__ import annotations

import os
import signal
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from suite_processes import processes_in, wait_for
from suite_texts import DIFFER, HEAD, case

LOADER = 'data-loader-script = "hang.py"\n'


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
    suite.driven("suite.toml", status=3)
    assert "more than the 600 MiB it may" in suite.results()["big"]["reason"]
    assert suite.results()["big"]["seconds"] < 50


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


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.corpus)])
def test_an_interrupted_suite_reports_ends_its_children_and_goes_on(suite, hang, number):
    suite.write(HEAD + case("good") + case("hang", LOADER) + case("last"))
    process = suite.start("suite.toml", "--report", "r.xml")
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
    process = suite.start("suite.toml")
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
    process = suite.start("suite.toml")
    wait_for((suite.folder / "begun").exists)
    os.kill(max(processes_in(suite.folder)), signal.SIGKILL)  # the youngest one: the case's own
    _out, _ = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "SIGKILL" in suite.results()["hang"]["reason"]
    assert "lack of memory" in suite.results()["hang"]["reason"]
    assert suite.results()["good"]["state"] == "passed"
