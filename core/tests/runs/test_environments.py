"""What outputs were made with: kept in files of all formats, and named where outputs differ."""

from __future__ import annotations

import platform

import numpy as np
import pytest
from saved_data import ANY_FORMAT, LAPTOP, SERVER, save_with_environment

from polycmp.results.files import open_runs
from polycmp.runs import environment_differences


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


@pytest.mark.parametrize("name", ANY_FORMAT)
def test_every_format_keeps_the_environment_of_a_run(tmp_path, name):
    save_with_environment(tmp_path / name, 0, SERVER)
    first, second = next(iter(open_runs(tmp_path / name))).iterations
    assert first.environment == SERVER
    assert second.environment == {}


def test_outputs_of_a_run_are_saved_with_this_machine(run):
    run("-b", "toy", "--save-outputs", "o.npz")
    environment = next(next(iter(open_runs("o.npz"))).iterations).environment
    assert environment["numpy"] == np.__version__
    assert platform.machine() in environment["platform"]
    assert environment["cores"]
