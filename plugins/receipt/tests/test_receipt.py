"""Receipts: what `run` writes, and what `check receipt` makes of it."""

from __future__ import annotations

import hashlib
import json

import pytest
from toymodels import small

RUN = ("run", "m.toy", "-b", "toy", "-b", "plain", "--iterations", "2")


@pytest.fixture
def receipt(polycmp, tmp_path):
    """Write a receipt of a run that passes; return its path."""
    small(tmp_path / "m.toy")
    assert polycmp(*RUN, "--receipt", "r.json").status == 0
    return tmp_path / "r.json"


def changed(path, change):
    """Change the predicate of a receipt."""
    statement = json.loads(path.read_text())
    change(statement["predicate"])
    path.write_text(json.dumps(statement))


def test_a_receipt_is_a_statement_of_in_toto(receipt, tmp_path):
    statement = json.loads(receipt.read_text())
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    digest = hashlib.sha256((tmp_path / "m.toy").read_bytes()).hexdigest()
    assert statement["subject"] == [{"name": "m.toy", "digest": {"sha256": digest}}]
    said = statement["predicate"]
    assert (said["verdict"], said["verdicts"]) == ("passed", {"toy": {"y": "passed"}})
    assert said["versions"]["toy"] == "toy 1"
    assert {"cpu", "numpy", "polycmp"} <= said["environment"].keys()
    assert said["outputs"]["toy"] == said["outputs"]["plain"]  # the same bits


@pytest.mark.parametrize("words", [(), ("--exact",)])
def test_what_it_says_is_repeated(polycmp, receipt, words):
    done = polycmp("check", "receipt", "r.json", *words, "--report", "c.json")
    assert done.status == 0
    assert "repeated: the verdict is passed, as the receipt says" in done.words
    assert done.report("c.json")["receipt"] == {"breaches": [], "differences": []}


def test_a_verdict_of_failed_is_repeated_as_well(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    wrong = ("run", "m.toy", "-b", "toy:fault=add,at=y", "-b", "plain", "--receipt", "r.json")
    assert polycmp(*wrong).status == 1
    assert polycmp("check", "receipt", "r.json").status == 0


def test_another_model_is_refused_before_it_runs(polycmp, receipt, tmp_path):
    small(tmp_path / "m.toy", seed=1)
    done = polycmp("check", "receipt", "r.json")
    assert done.status == 1
    assert "m.toy is another file: its SHA-256 does not begin with" in done.words


def test_a_model_that_is_gone_is_refused(polycmp, receipt, tmp_path):
    (tmp_path / "m.toy").unlink()
    done = polycmp("check", "receipt", "r.json")
    assert (done.status, "m.toy cannot be read" in done.words) == (1, True)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda said: said.update(verdict="failed"), "the verdict is passed, and the receipt says failed"),
        (lambda said: said["verdicts"]["toy"].update(y="failed"), "'y' of toy is passed, and the receipt says failed"),
        (lambda said: said.update(inputs="0" * 64), "the inputs are others"),
        (lambda said: said["verdicts"]["toy"].update(z="passed"), "'z' of toy is not compared"),
    ],
    ids=["verdict", "output", "inputs", "another output"],
)
def test_what_is_not_so_is_refused(polycmp, receipt, change, why):
    changed(receipt, change)
    done = polycmp("check", "receipt", "r.json")
    assert done.status == 1
    assert "the receipt is refused" in done.words
    assert why in done.words


def test_other_bits_and_releases_are_told_and_refused_only_if_asked(polycmp, receipt):
    def elsewhere(said):
        said["outputs"]["toy"]["y"] = "0" * 64
        said["versions"]["toy"] = "toy 0"
        said["environment"]["cpu"] = "another one"

    changed(receipt, elsewhere)
    done = polycmp("check", "receipt", "r.json")
    assert done.status == 0
    for text in ("'y' of toy has other bits", "another release runs here: toy 1, there toy 0", "there another one"):
        assert text in done.words
    assert polycmp("check", "receipt", "r.json", "--exact").status == 1


def test_code_runs_only_where_it_is_allowed(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    (tmp_path / "data.py").write_text(
        "import numpy as np\nfrom pathlib import Path\n\n\ndef load_data():\n"
        "    Path('ran').touch()\n    yield {'x': np.ones((2, 8), np.float32)}\n"
    )
    assert polycmp(*RUN[:-2], "--data-loader-script", "data.py", "--receipt", "r.json").status == 0
    (tmp_path / "ran").unlink()
    done = polycmp("check", "receipt", "r.json")
    assert done.status == 2
    assert "data.py" in done.err
    assert "--allow-scripts" in done.err
    assert not (tmp_path / "ran").exists()
    assert polycmp("check", "receipt", "r.json", "--allow-scripts").status == 0
    assert (tmp_path / "ran").exists()


def test_what_it_would_write_is_not_written(polycmp, receipt, tmp_path):
    changed(receipt, lambda said: said["run"].update({"save-outputs": "victim.npz", "report": ["victim.json"]}))
    assert polycmp("check", "receipt", "r.json").status == 0
    assert not list(tmp_path.glob("victim.*"))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "cannot be read as a receipt"),
        ("[]", "is no receipt"),
        ('{"_type": "https://in-toto.io/Statement/v1", "predicateType": "other"}', "is no receipt of polycmp"),
        (
            '{"_type": "https://in-toto.io/Statement/v1", "subject": [],'
            ' "predicateType": "https://polycmp.github.io/polycmp/comparison/v1", "predicate": {}}',
            "lacks what a receipt has",
        ),
    ],
)
def test_a_file_that_is_no_receipt(polycmp, tmp_path, content, why):
    (tmp_path / "r.json").write_text(content)
    done = polycmp("check", "receipt", "r.json")
    assert done.status in {2, 3}
    assert why in done.err
    assert polycmp("check", "receipt", "none.json").status in {2, 3}
