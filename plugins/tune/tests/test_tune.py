"""`polycmp tune`: verdicts, latencies, and the choice between settings."""

from __future__ import annotations

import json

import pytest
from toymodels import chain

from polycmp.results import Timing
from polycmp_tune.latency import Latency
from polycmp_tune.settings import TunedSetting, fastest, pareto

QUICK = ("--seconds", "0.01", "--rounds", "2")
SLOW, FAST = "toy:name=slow,seconds=0.3", "toy:name=fast,seconds=0.1"
WRONG = "toy:name=wrong,seconds=0.01,fault=add,at=y"


@pytest.fixture
def tune(polycmp, tmp_path):
    """Return what runs the command on a small model; it gives the status, what was printed, and the document."""
    chain(tmp_path / "m.toy")

    def go(*words):
        done = polycmp("tune", "m.toy", *words, "--report", "r.json")
        report = tmp_path / "r.json"
        return done, json.loads(report.read_text())["tune"] if report.exists() else {}

    return go


def labels(document):
    """Return the labels of settings that have a latency, the fastest first."""
    timed = [item for item in document["settings"] if item["latency"]]
    return [item["label"] for item in sorted(timed, key=lambda item: item["latency"]["median"])]


def test_the_fastest_setting_that_is_right_is_named(tune):
    done, document = tune("--matrix", SLOW, FAST, WRONG, "-b", "plain", *QUICK)
    assert done.status == 0, done.out
    assert "the fastest that is right is" in done.out
    words = {item["label"]: item["verdict"] for item in document["settings"]}
    assert words == {"slow": "passed", "fast": "passed", "wrong": "failed", "plain": "passed"}
    assert labels(document).index("wrong") < labels(document).index("fast") < labels(document).index("slow")
    assert "wrong" not in document["fastest"]


def test_settings_are_given_with_b_as_well(tune):
    done, document = tune("-b", SLOW, "-b", FAST, "-b", SLOW.replace("slow", "old"), *QUICK)
    assert done.status == 0
    assert document["fastest"] == ["fast"]
    assert "the fastest that is right is fast, 100 ms a call; 3 times as fast as old" in " ".join(done.out.split())
    assert [item["label"] for item in document["settings"] if item["reference"]] == ["old"]


def test_no_setting_is_right(tune):
    done, document = tune("--matrix", WRONG, "-b", SLOW, *QUICK)
    assert done.status == 1
    assert "no setting is right" in done.out
    assert document["settings"][0]["reason"]


def test_a_setting_that_fails_is_told_and_the_others_are_timed(tune):
    done, document = tune("--matrix", "toy:name=picky,refuses=[Relu]", FAST, "-b", SLOW, *QUICK)
    assert done.status == 0
    assert "picky failed" in done.out
    assert "has no operator Relu" in done.out
    assert document["fastest"] == ["fast"]
    assert document["settings"][0]["latency"] is None


def test_one_that_fails_while_it_is_timed_keeps_its_verdict_from_the_choice(tune):
    done, document = tune("--matrix", "toy:name=tired,fault=raise,at=y,after=2,seconds=0.01", FAST, "-b", SLOW, *QUICK)
    assert done.status == 0
    assert document["fastest"] == ["fast"]
    assert "has had enough" in document["settings"][0]["failure"]


def test_the_run_file_of_the_choice_repeats_it(tune, polycmp):
    assert (
        tune("--matrix", SLOW, FAST, "-b", SLOW.replace("slow", "old"), *QUICK, "--write-config", "f.toml")[0].status
        == 0
    )
    done = polycmp("run", "--config", "f.toml")
    assert done.status == 0
    assert "fast against old" in done.out


def test_a_typed_tolerance_judges(tune):
    wrong = "toy:name=off,fault=add,at=y,amount=0.0001"
    assert tune("--matrix", wrong, "-b", "plain", *QUICK)[0].status == 1
    assert tune("--matrix", wrong, "-b", "plain", *QUICK, "--atol", "0.0002", "--allow-blind")[0].status == 0


def test_streams_are_sessions_called_at_the_same_time(tune):
    done, document = tune("--matrix", FAST, "-b", SLOW, *QUICK, "--streams", "3", "--warm-up", "0")
    assert done.status == 0
    calls = document["settings"][0]["latency"]["calls"]
    assert calls >= 3 * 2 * 3  # three streams, two rounds, three calls at least
    assert "3 sessions at the same time" in done.out


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("--matrix", "plain"), "1 setting\n"),
        ((), "0 settings"),
        (("--matrix", "plain", "plain", "--rounds", "0"), "rounds must be at least 1, not 0"),
        (("--matrix", "plain", "plain", "--seconds", "0"), "above zero"),
        (("--matrix", "plain", "nothing"), "no backend 'nothing'"),
    ],
)
def test_wrong_usage(tune, words, shown):
    done, _ = tune(*words)
    assert done.status in {2, 3}
    assert shown in done.err


def latency(median, noise=0.0):
    """Return a latency."""
    return Latency(Timing(median, median, median, median, median, 10), noise, 1 / median)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ([("a", 1.0, 0.1), ("b", 1.05, 0.0)], ["a", "b"]),  # no further apart than the noise
        ([("a", 1.0, 0.01), ("b", 1.05, 0.01)], ["a"]),
        ([("a", 1.2, 0.0), ("b", 1.0, 0.0)], ["b"]),
        ([], []),
    ],
)
def test_settings_within_the_noise_may_be_as_fast(settings, expected):
    made = [TunedSetting(name, "passed", latency=latency(median, noise)) for name, median, noise in settings]
    assert [setting.label for setting in fastest(made)] == expected


def test_a_setting_is_on_the_front_if_no_other_is_faster_and_nearer():
    rows = [("a", 1.0, 0.1), ("b", 2.0, 0.2), ("c", 3.0, 0.01), ("d", 4.0, 0.01)]
    made = [TunedSetting(name, "passed", error=error, latency=latency(median)) for name, median, error in rows]
    assert [setting.label for setting in pareto(made)] == ["a", "c"]


def test_noise_is_how_far_a_round_is_off():
    made = Latency.of([[1.0, 1.0, 1.0], [1.2, 1.2, 1.2], [1.0, 1.0, 1.0]], 9.6)
    assert (made.median, round(made.noise, 6), made.timing.count) == (1.0, 0.2, 9)
