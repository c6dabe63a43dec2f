"""The compare functions of a plan: what they are told by reports and data loaders."""

from __future__ import annotations

import subprocess
import sys

#: A half too much in one output.
BACKENDS = ("-b", "toy:name=bad,fault=add,at=y,amount=0.5", "-b", "plain")


def test_what_costs_more_is_computed_only_for_a_report(polycmp, model, toybox, monkeypatch, tmp_path):
    seen = tmp_path / "seen.py"
    seen.write_text(
        "import toybox.compare\n"
        "make = toybox.compare.make_gap\n"
        "def spied(options, *, detail):\n"
        "    print('detail', detail)\n"
        "    return make(options, detail=detail)\n"
        "toybox.compare.make_gap = spied\n"
        "from polycmp.cli.main import main\n"
        "main()\n"
    )
    words = [sys.executable, "seen.py", "run", "m.toy", *BACKENDS, "--compare", "gap"]
    plain = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    asked = subprocess.run([*words, "--report", "r.json"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "detail False" in plain.stdout, plain.stderr
    assert "detail True" in asked.stdout, asked.stderr


def test_suggestions_of_a_data_loader_reach_a_function_and_are_told(polycmp, model):
    words = ("run", "m.toy", *BACKENDS, "--data-loader", "edges", "--compare", "gap", "--allow-blind", "y")
    done = polycmp(*words)
    assert (done.status, "gaps up to 2 are equal" in done.words) == (0, True)
    done = polycmp(*words, "--gap-allowed", "0.1")
    assert (done.status, "gaps up to 2 are equal" in done.words) == (1, False)
