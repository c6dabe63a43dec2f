"""Documents on disk: JSON that any reader takes, whatever numbers are in it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from polycmp.files import write_document


def test_a_report_holds_no_bare_nan(tmp_path):
    path = tmp_path / "r.json"
    write_document(path, {"a": float("nan"), "b": [np.float32("inf"), -np.inf], 3: np.int64(4), "c": (None, True, "ä")})
    read = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert read == {"a": "nan", "b": ["inf", "-inf"], "3": 4, "c": [None, True, "ä"]}
