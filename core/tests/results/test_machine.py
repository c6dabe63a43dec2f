"""What a machine and an environment are, also as a program of another interpreter."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from polycmp.results import machine
from polycmp.results.machine import describe, device_here, processor_name

CPUINFO = """processor : 0
model name : A chip
flags : fpu sse2 avx2 fma avx512f

processor : 1
model name : Another chip
flags : fpu
"""


@pytest.fixture
def chip(monkeypatch, tmp_path):
    """Let Linux tell of a processor."""

    def tell(text):
        (tmp_path / "cpuinfo").write_text(text)
        place = machine.Path
        monkeypatch.setattr(
            machine, "Path", lambda path: place(tmp_path / "cpuinfo") if "cpuinfo" in path else place(path)
        )

    return tell


def test_the_first_processor_is_described_by_what_kernels_are_chosen_by(chip):
    chip(CPUINFO)
    facts = describe(["numpy", "no_such_module"])
    assert (facts["processor"], facts["processor flags"]) == ("A chip", "avx2 fma avx512f")
    assert facts["without"] == "AVX-512 VNNI, AVX VNNI, AMX"
    assert facts["numpy"] == np.__version__
    assert "no_such_module" not in facts
    assert processor_name() == "A chip"


def test_a_processor_without_such_features_says_so(chip):
    chip("model name : A chip\nflags : fpu\n")
    facts = describe([])
    assert facts["processor flags"] == "none of those that matter"
    assert "without" not in facts


def test_another_interpreter_needs_nothing_of_polycmp():
    words = [sys.executable, "-I", "-S", machine.__file__, "json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    facts = json.loads(done.stdout)
    assert {"Python", "platform", "processor", "cores"} <= set(facts)
    assert device_here().startswith(facts["platform"].split()[-1])
