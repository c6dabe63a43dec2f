"""What of `locate` and `debug` needs ONNX says so, and what to install, where it is not installed."""

from __future__ import annotations

import pytest
from toymodels import small

TOYS = ("-b", "toy", "-b", "plain:model=other.toy")


@pytest.mark.parametrize(
    "words",
    [
        ("locate", "m.toy", *TOYS, "--rank"),
        ("locate", "m.toy", *TOYS, "--save-fixed", "fixed.onnx"),
        ("debug", "precision", "m.toy", *TOYS),
        ("debug", "precision", "m.toy", "--check", "true"),
        ("debug", "bundle", "case"),
    ],
    ids=["rank", "repair", "precision", "precision --check", "bundle"],
)
def test_it_says_what_to_install(polycmp, tmp_path, words):
    small(tmp_path / "m.toy")
    small(tmp_path / "other.toy")
    done = polycmp(*words)
    assert done.status == 3
    assert "needs the package polycmp-onnx, which is not installed" in done.err
    assert "next: pip install 'polycmp-locate[onnx]'" in done.err
