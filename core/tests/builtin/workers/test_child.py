"""What a worker answers: the outputs of a backend, its notes, or its error."""

from __future__ import annotations

import sys

HERE = f"python={sys.executable}"


def test_workers_give_what_this_process_gives(run):
    words = ("-b", f"toy:name=there,threads=9,{HERE}", "-b", "toy:name=here", "-b", f"plain:{HERE}")
    done, found = run(*words, "--iterations", "2", "--atol", "0", "--rtol", "0")
    assert done.status == 0, done.out + done.err
    there = found["inference_results"]["there"]
    assert (there["backend"], there["version"], there["iterations"]) == ("toy", "toy 1", 2)
    assert there["notes"] == ["only 8 threads are used"]


def test_a_backend_that_only_the_other_environment_would_have(run):
    done, found = run("-b", f"tony:{HERE}", "-b", "plain")
    assert done.status == 3
    [bad] = [item for label, item in found["inference_results"].items() if label != "plain"]
    assert "there is no backend 'tony'" in bad["error"]
