"""Backends of the toy box in processes of their own, in this environment: `--use-subprocess` and `python=`."""

from __future__ import annotations

import os
import resource
import sys
import time

import pytest
from fakes import FakeSite

from polycmp.builtin.workers.child import PROTOCOL

HERE = f"python={sys.executable}"


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("die", "died with signal 11 (SIGSEGV) in iteration 1"),
        pytest.param("leave", "ended with exit status 7 in iteration 1", marks=pytest.mark.corpus),
        ("raise", "has had enough (in iteration 1)"),
        ("overwrite", "no room left"),
    ],
)
def test_a_worker_that_fails_is_a_result_and_the_others_go_on(run, fault, says):
    bad = f"toy:name=bad,fault={fault},at=h,after=1,{HERE}"
    done, found = run("-b", bad, "-b", "toy", "-b", "plain", "--iterations", "2")
    assert done.status == 3
    assert says in found["inference_results"]["bad"]["error"]
    assert found["inference_results"]["toy"]["iterations"] == 2


def test_a_worker_that_never_answers_is_given_up(run):
    done, found = run("-b", "toy:name=bad,fault=hang,at=h", "-b", "plain", "--use-subprocess", "--timeout", "2")
    assert done.status == 3
    assert "hung: no answer for 2 s" in found["inference_results"]["bad"]["error"]


def test_an_interpreter_that_is_none(run):
    done, found = run("-b", "toy:python=/no/such/python,name=bad", "-b", "plain")
    assert done.status == 3
    assert "cannot start /no/such/python" in found["inference_results"]["bad"]["error"]


#: An interpreter that starts like a worker and then never stops writing.
FLOOD = """#!{python}
import json, sys
sys.stdin.readline()
print()
print(json.dumps({{"protocol": {protocol}, "polycmp": "?"}}), flush=True)
sys.stdin.readline()
while True:
    {flood}
"""


@pytest.mark.parametrize(
    ("flood", "says"),
    [
        ('sys.stdout.write(json.dumps({"log": [10, "polycmp", "again"]}) + "\\n")', "hung: no answer for 1 s"),
        ('sys.stdout.write("x" * 100_000)', "it wrote a line of more than 64 MiB"),
        pytest.param('sys.stderr.write("x" * 100_000)', "hung: no answer for 1 s", marks=pytest.mark.corpus),
        pytest.param('sys.stdout.write("\\n")', "hung: no answer for 1 s", marks=pytest.mark.corpus),
    ],
    ids=["messages", "one line", "one line of standard error", "empty lines"],
)
def test_a_worker_that_never_stops_writing_is_given_up_in_time_and_memory(run, tmp_path, flood, says):
    python = tmp_path / "python"
    python.write_text(FLOOD.format(python=sys.executable, protocol=PROTOCOL, flood=flood))
    python.chmod(0o755)
    begun = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done, found = run("-b", f"toy:python={python},name=bad", "-b", "plain", "--timeout", "1")
    assert done.status == 3
    assert says in found["inference_results"]["bad"]["error"]
    assert time.monotonic() - begun < 30
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10 < 400  # MiB


#: An interpreter that starts like a worker and says that these are the inputs.
INPUTS = """#!{python}
import json, sys
sys.stdin.readline()
print()
print(json.dumps({{"protocol": {protocol}, "polycmp": "?"}}), flush=True)
sys.stdin.readline()
print(json.dumps({{"inputs": {inputs}, "version": ""}}), flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("name", [7, None, True, ["x"]])
def test_a_worker_whose_inputs_have_no_names_is_a_failing_backend(run, tmp_path, name):
    python = tmp_path / "python"
    inputs = repr([{"name": name, "dtype": "float32", "shape": [2, 8]}])
    python.write_text(INPUTS.format(python=sys.executable, protocol=PROTOCOL, inputs=inputs))
    python.chmod(0o755)
    done, found = run("-b", f"toy:python={python},name=bad", "-b", "plain")
    assert done.status == 3
    assert "fault of polycmp" not in done.err
    assert f"an input or output is called {name!r}, which is no text" in found["inference_results"]["bad"]["error"]


#: A plugin that the interpreter of `python=` alone has: toys whose tensors are rounded to float16 by an option.
HALVES = """
    from dataclasses import dataclass
    from polycmp.spec import RunnerSpec, RunnerTools, hookimpl, opt

    @dataclass(frozen=True)
    class Options:
        half: bool = opt(False, help="Calculate in float16.")
        kind: str = opt("float16", help="What it says of that.", metavar="TYPE")

    class Tools(RunnerTools):
        def precision(self, model, options):
            return options.kind if options.half else ""

    @hookimpl
    def polycmp_runners():
        yield RunnerSpec(
            name="halves", summary="Halves", factory="fake_halves:make", options=Options, accepts=("toy",),
            tools="fake_halves:Tools",
        )

    def make(model, options, name=""):
        from toybox.plugin import RunnerOptions
        from toybox.runner import ToyRunner
        return ToyRunner(model.load("toy"), RunnerOptions(dtype="float16" if options.half else ""), name)
"""


@pytest.fixture
def elsewhere(tmp_path):
    """Return an interpreter that has a plugin which this one has not."""
    site = FakeSite(tmp_path / "site")
    site.plugin("halves", HALVES)
    path = os.pathsep.join([str(site.folder), os.environ["PYTHONPATH"]])
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={path} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return python


def test_a_type_that_only_the_other_environment_knows_of_explains_a_difference(run, elsewhere):
    done, found = run("-b", f"halves:half=true,name=halves,python={elsewhere}", "-b", "plain")
    assert done.status == 0, done.out
    assert found["inference_results"]["halves"]["precision"] == "float16"


def test_a_type_that_another_release_knows_and_this_one_does_not_is_told(run, elsewhere):
    done, _ = run("-b", f"halves:half=true,kind=float3,name=halves,python={elsewhere}", "-b", "plain")
    assert done.status == 3
    said = " ".join((done.out + done.err).split())
    assert "halves says that it calculates in 'float3', a type whose rounding polycmp does not know" in said
    assert "fault of polycmp" not in said
