"""Files of metrics: what is none is refused by its name."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "No such file"),
        ("", "cannot read"),
        ("{", "cannot read"),
        ("no json", "cannot read"),
        ("{}", "holds no metrics"),
        ("[]", "holds no metrics"),
        ("[1]", "holds no metrics"),
        ('{"schema": 1}', "holds no metrics"),
        ('{"format": "polycmp metrics", "schema": 1}', "damaged"),
        ('{"format": "polycmp metrics", "schema": 99}', "schema 99"),
        ('{"polygraphy_class": "AccuracyResults"}', "damaged"),
    ],
)
def test_what_holds_no_metrics(polycmp, tmp_path, content, text):
    if content is not None:
        (tmp_path / "a.json").write_text(content)
    done = polycmp("check", "accuracy", "a.json")
    assert done.status == 3
    assert "a.json" in done.err
    assert text in done.err
