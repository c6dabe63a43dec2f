"""What these tests share: a pipeline of two functions before a model of the toy box and two behind it."""

from __future__ import annotations

import json

import pytest
from commandline import core_alone_with, polycmp, toybox
from toymodels import chain

__all__ = ["polycmp", "toybox"]

FUNCTIONS = """
import numpy as np


def load():
    rng = np.random.default_rng(0)
    for count in (3, 5, 2):
        yield {"signal": rng.normal(size=count * 8 + 3).astype(np.float32)}


def windows(signal):
    return [signal[at : at + 8][None] for at in range(0, len(signal) - 7, 8)]


def normalise(windows):
    return [(part - part.mean()) / (part.std() + 1e-6) for part in windows]


def pick(scores):
    return [int(part.argmax()) for part in scores]


def spell(classes):
    return "".join("abcdefgh"[number] for number in classes)
"""
PIPELINE = """
data-loader-script = "old.py:load"

[defaults]
backend = ["toy", "plain"]

[[stage]]
name = "cut"
function = "{cut}:windows"
reference-function = "old.py:windows"
inputs = "signal"
outputs = "windows"

[[stage]]
name = "normalise"
function = "{normalise}:normalise"
reference-function = "old.py:normalise"
inputs = "windows"
outputs = "normal"

[[stage]]
name = "score"
model = "m.toy"
inputs = {{ x = "normal" }}
outputs = {{ y = "scores" }}

[[stage]]
name = "pick"
function = "{pick}:pick"
reference-function = "old.py:pick"
inputs = "scores"
outputs = "classes"

[[stage]]
name = "spell"
function = "old.py:spell"
inputs = "classes"
outputs = "text"
"""


@pytest.fixture(scope="module", autouse=True)
def core_alone():
    """Hide ONNX, ONNX Runtime and our other plugins."""
    with core_alone_with("polycmp_pipeline", beside=("polycmp_report",)):
        yield


@pytest.fixture
def pipeline(polycmp, tmp_path):
    """Return what runs the pipeline with a stage's function changed; it gives what was printed, and the document."""
    chain(tmp_path / "m.toy")
    (tmp_path / "old.py").write_text(FUNCTIONS)

    def go(*words, text=PIPELINE, instead=("", ""), **changed):
        assert instead[0] in text
        for stage, body in changed.items():
            (tmp_path / f"new_{stage}.py").write_text(f"from old import *\n\n\n{body}\n")
        files = {stage: f"new_{stage}.py" if stage in changed else "old.py" for stage in ("cut", "normalise", "pick")}
        (tmp_path / "p.toml").write_text(text.replace(*instead, 1).format(**files))
        done = polycmp("pipeline", "p.toml", *words, "--report", "r.json")
        report = tmp_path / "r.json"
        found = json.loads(report.read_text())["pipeline"] if report.exists() else {}
        report.unlink(missing_ok=True)
        return done, found

    return go
