"""Asks polycmp where a file is wrong, in this process."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import polycmp


def ask(model: str, candidate: str, reference: str, inputs: str) -> dict[str, Any]:
    """Return what `polycmp locate` says.

    Args:
        model: The model's file.
        candidate: The backend to judge, with its options.
        reference: The backend to believe.
        inputs: A file of inputs.
    """
    start = time.monotonic()
    document = polycmp.run(model, candidate, reference, inputs=inputs).locate().result.document
    operator = document.get("operator") or {}
    first = document.get("first_bad") or {}
    named = first.get("tensor") if isinstance(first, dict) else first
    return {
        "verdict": document["verdict"],
        "words": document["words"],
        "sentence": document["sentence"],
        "named": named or "",
        "operator": operator.get("type", ""),
        "pairs": len(document["tensors"]),
        "seconds": round(time.monotonic() - start, 2),
    }


def is_one(answer: Mapping[str, Any]) -> bool:
    """Return whether an answer names one operator as wrong, not one of several."""
    return answer["verdict"] == "failed" and " one of " not in answer["sentence"]


def say(answer: Mapping[str, Any]) -> None:
    """Print an answer as a line of JSON."""
    print(json.dumps(answer), flush=True)
