"""Asks polycmp's command line in this process, for `truth.outside.torch_compile`, and prints a line of JSON for each.

    python asking.py FOLDER < questions.json

The questions are a mapping from a name to the words of a command. What was said is printed at once, so that it is not
lost where a later command ends the process. It needs nothing of this tree but polycmp itself.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import torch

from polycmp.cli.main import main


def ask(words: list[str], report: Path) -> dict[str, object]:
    """Return status, verdict, sentence, first difference and notes of a command, and how long it took."""
    torch._dynamo.reset()  # noqa: SLF001 - as in a new process
    report.unlink(missing_ok=True)
    printed = io.StringIO()
    begun = time.monotonic()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = main([*words, "--report", str(report)])
    said: dict[str, object] = {"status": status, "seconds": time.monotonic() - begun}
    if not report.is_file():
        return {**said, "sentence": printed.getvalue()[-600:]}
    found = json.loads(report.read_text("utf-8"))
    switch = found.get("switch") or {}
    differing = [item["candidate"] for item in found.get("comparison_results", ()) if not item["passed"]]
    return {
        **said,
        **{name: found.get(name) for name in ("verdict", "sentence", "notes")},
        "candidates": differing,
        "switch": switch.get("words", ""),
        "printed": printed.getvalue()[-3000:],
    }


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for name, words in json.load(sys.stdin).items():
            print(
                json.dumps({"question": name, **ask(words, Path(folder) / "r.json")}), file=sys.__stdout__, flush=True
            )
