"""Releases that a case runs with: another one may give another result."""

from __future__ import annotations

from suite_texts import CASE, HEAD

from polycmp.plugins import Registry
from polycmp_suite.session import fingerprint
from polycmp_suite.suitefile.read import read_suite


def test_another_release_of_a_backend_runs_again(suite, monkeypatch):
    suite.write(HEAD + CASE)
    (case,) = read_suite(str(suite.path), Registry.discover()).cases
    assert any(line.startswith("onnxruntime") for line in case.versions), case.versions
    before = fingerprint(case, str(suite.folder))
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.0.1")
    (other,) = read_suite(str(suite.path), Registry.discover()).cases
    assert fingerprint(other, str(suite.folder)) != before
