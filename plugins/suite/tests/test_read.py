"""The suite file, or a folder in its place with a case for each model: what is read, and what is said of mistakes."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET

import pytest

BACKENDS = ("-b", "onnxrt:optimization=all", "-b", "onnxrt:optimization=off")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[case]\n", "not valid TOML"),
        ("", "there is no [[case]]"),
        ('[[case]]\nmodel = "one.onnx"\n', "no backend given"),
        ('[[case]]\nbackend = "onnx"\n', "no model given"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "nobody"\n', "line 3: there is no backend 'nobody'"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "onnx"\ncommand = "lcoate"\n', "did you mean 'locate'"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "onnx"\nreport = ["x.json"]\n', "'report' is not allowed in a case"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "onnx"\nbackends = "onnx"\n', "repeats another key"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "onnx"\n' * 2, "the case 'one' is already in line 1"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "onnx"\nmatrix = { atol = 3 }\n', "is a list of values"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "onnx"\nmatrix = { retries = [-1] }\n', "line 4: retries: a whole"),
        ("case = 3\n", "cases are written as [[case]]"),
        ('defaults = 3\n[[case]]\nmodel = "one.onnx"\n', "defaults are a table"),
    ],
)
def test_a_wrong_file_is_wrong_usage(suite, text, words):
    suite.write(text)
    done = suite("suite.toml", status=2)
    assert words in done.stderr.replace("\n        ", " "), done.stderr


def test_a_missing_file_is_said(suite):
    done = suite("nothing.toml", status=3)
    assert "no such suite file or folder: nothing.toml" in done.stderr


@pytest.fixture
def zoo(suite):
    """A folder of models below the one in which suites are run; one file in it is no model."""
    folder = suite.folder / "zoo"
    (folder / "deep" / "er").mkdir(parents=True)
    for place in ("one.onnx", "deep/er/three.onnx"):
        shutil.copy(suite.folder / "one.onnx", folder / place)
    (folder / "broken.onnx").write_bytes(b"this is no model")
    (folder / "notes.txt").write_text("not a model either")
    return suite


def states(suite) -> dict[str, str]:
    latest = suite.folder / "zoo-results" / "latest"
    found = [json.loads(path.read_text()) for path in latest.glob("cases/*/result.json")]
    return {item["case"]: item["state"] for item in found}


def test_every_model_is_a_case_and_a_bad_one_is_not_the_end(zoo):
    done = zoo("zoo", *BACKENDS, "--report", "r.json", "r.xml", status=3)
    assert "ERROR: 3 cases: 2 passed, 1 not compared" in done.stdout
    assert states(zoo) == {"zoo/broken": "error", "zoo/deep/er/three": "passed", "zoo/one": "passed"}
    report = json.loads((zoo.folder / "r.json").read_text())
    assert [case["case"] for case in report["cases"]] == ["zoo/broken", "zoo/deep/er/three", "zoo/one"]
    root = ET.parse(zoo.folder / "r.xml").getroot()
    assert (root.get("tests"), root.get("errors")) == ("3", "1")
    assert {suite.get("name") for suite in root} == {"zoo/broken.onnx", "zoo/deep/er/three.onnx", "zoo/one.onnx"}


def test_cases_are_the_commands_that_it_shows(zoo):
    done = zoo("zoo", "-b", "onnxrt:threads=1", "-b", "onnx", "--dry-run", "-k", "one", status=0)
    assert done.stdout == "polycmp run zoo/one.onnx -b onnxrt:threads=1 -b onnx\n"


def test_a_pattern_chooses_models(zoo):
    assert zoo("zoo", *BACKENDS, "--list", "--pattern", "*/*/*.onnx", status=0).stdout == "zoo/deep/er/three\n"
    done = zoo("zoo", *BACKENDS, "--pattern", "*.pt", status=2)
    assert "no file in zoo fits --pattern '*.pt'" in done.stderr


def test_files_whose_names_differ_in_their_endings_are_told_apart(zoo):
    shutil.copy(zoo.folder / "zoo" / "one.onnx", zoo.folder / "zoo" / "one.pb")
    done = zoo("zoo", *BACKENDS, "--list", "--pattern", "one.*", status=0)
    assert done.stdout == "zoo/one.onnx\nzoo/one.pb\n"


def test_settings_hold_for_every_case(zoo):
    (zoo.folder / "settings.toml").write_text('atol = 0.5\ntags = ["nightly"]\n')
    done = zoo("zoo", *BACKENDS, "--settings", "settings.toml", "--dry-run", "--tag", "nightly", status=0)
    assert [line.partition("--")[2] for line in done.stdout.splitlines()] == ["atol 0.5"] * 3
    (zoo.folder / "settings.toml").write_text("attol = 0.5\n")
    done = zoo("zoo", *BACKENDS, "--settings", "settings.toml", status=2)
    assert "there is no option 'attol'" in done.stderr
    assert "line" not in done.stderr  # a folder has none


@pytest.mark.parametrize(
    "words, said",
    [
        (("zoo",), "no backend given"),
        (("zoo", "-b", "onnyx"), "there is no backend 'onnyx'"),
        (("nowhere", *BACKENDS), "no such suite file or folder: nowhere"),
        (("suite.toml", *BACKENDS), "-b, --pattern and --settings are for a folder"),
        (("zoo", *BACKENDS, "--pattern", "/absolute"), "--pattern: "),
    ],
)
def test_what_cannot_be_is_told_in_words(zoo, words, said):
    zoo.write('[[case]]\nmodel = "one.onnx"\nbackends = ["onnxrt"]\n')
    done = zoo(*words)
    assert done.returncode == (3 if words[0] == "nowhere" else 2)
    assert said in done.stderr
    assert "next:" in done.stderr
