"""What a search writes into its report."""

from __future__ import annotations

import json

#: The words that have it written.
REPORT = ("--report", "found.json")


def located(folder):
    """Return the report of a search in a folder."""
    return json.loads((folder / "found.json").read_text())


def locate_files(polycmp, candidate, reference, *words):
    """Search for what differs between two files on ONNX Runtime."""
    return polycmp(
        "locate", candidate, "-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={reference}", *REPORT, *words
    )
