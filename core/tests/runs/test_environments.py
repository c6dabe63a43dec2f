"""What outputs were made with: kept in files of all formats, and named where outputs differ."""

from __future__ import annotations

import platform

import numpy as np
import pytest
from saved_data import NEEDS_SAFETENSORS

from polycmp.results import IterationResult
from polycmp.results.files import OutputsWriter, open_runs
from polycmp.runs import environment_differences

LAPTOP = {"numpy": "2.4.6", "processor": "A", "cores": "2", "processor flags": "avx2 fma"}
SERVER = {**LAPTOP, "processor": "B", "cores": "64", "processor flags": "avx2 fma avx512_vnni amx_int8"}
FORMATS = ["saved.npz", "saved.json", "folder", pytest.param("saved.safetensors", marks=NEEDS_SAFETENSORS)]


def save(path, value, environment):
    outputs = IterationResult({"y": np.arange(4.0) + value})
    outputs.environment = environment
    with OutputsWriter(path) as writer:
        writer.add("run", outputs)
        writer.add("run", {"y": np.arange(4.0)})


@pytest.mark.parametrize(
    ("candidate", "reference", "words"),
    [
        (LAPTOP, LAPTOP, []),
        (
            LAPTOP,
            SERVER,
            [
                "on another kind of processor: a without amx_int8, avx512_vnni",
                "on another number of cores: 2 in a and 64 in b",
            ],
        ),
        (
            {**LAPTOP, "processor flags": "fma sse4_2"},
            LAPTOP,
            ["on another kind of processor: a without avx2; b without sse4_2"],
        ),
        ({**LAPTOP, "processor": "C"}, LAPTOP, ["on another processor, with the same flags: C in a and A in b"]),
        ({**LAPTOP, "numpy": "1.26.4"}, LAPTOP, ["with other versions: numpy 1.26.4 in a and 2.4.6 in b"]),
        ({}, LAPTOP, []),
        ({"not known": "it ran on ssh://board"}, LAPTOP, []),
    ],
)
def test_differences_are_named_by_what_changes_results(candidate, reference, words):
    assert list(environment_differences(candidate, reference, ("a", "b"))) == words


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_keeps_the_environment_of_a_run(tmp_path, name):
    save(tmp_path / name, 0, SERVER)
    first, second = next(iter(open_runs(tmp_path / name))).iterations
    assert first.environment == SERVER
    assert second.environment == {}


@pytest.mark.parametrize("name", FORMATS)
def test_compare_names_the_other_kind_of_processor_where_outputs_differ(polycmp, name):
    save("same.npz", 0, LAPTOP)
    save(name, 0, SERVER)
    assert "processor" not in polycmp("compare", "same.npz", name).words
    save("other.npz", 1, LAPTOP)
    done = polycmp("compare", "other.npz", name)
    assert done.status == 1
    assert "made on another kind of processor: run without amx_int8, avx512_vnni" in done.words


def test_outputs_of_a_run_are_saved_with_this_machine(run):
    run("-b", "toy", "--save-outputs", "o.npz")
    environment = next(next(iter(open_runs("o.npz"))).iterations).environment
    assert environment["numpy"] == np.__version__
    assert platform.machine() in environment["platform"]
    assert environment["cores"]


def test_a_damaged_environment_is_an_error_in_words(polycmp, tmp_path):
    save("good.json", 0, LAPTOP)
    text = (tmp_path / "good.json").read_text()
    (tmp_path / "bad.json").write_text(text.replace('"2.4.6"', "7"))
    done = polycmp("compare", "bad.json", "good.json")
    assert done.status == 3
    assert "bad.json" in done.err
