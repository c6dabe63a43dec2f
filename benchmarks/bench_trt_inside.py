"""Looking inside a TensorRT engine: `run`, `run --mark-all` and `locate` on one model, as multiples of the first.

    python benchmarks/bench_trt_inside.py MODEL.onnx [--options fp16] [-- WORDS FOR POLYCMP ...]

Needs a CUDA device and TensorRT. Each command is a process of its own, ended after `--limit` seconds; prints a line of
JSON per command: seconds, the multiple of `run` (build and run the whole model once), the exit status, the verdict, how
many tensors were compared, and the notes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def measure(words, limit):
    """Return what one command took and found."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        start = time.perf_counter()
        try:
            done = subprocess.run(
                [sys.executable, "-m", "polycmp", *words, "--report", str(report)],
                check=False,
                capture_output=True,
                text=True,
                timeout=limit,
            )
            status, shown = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired as error:
            status, shown = None, str(error.stdout or "")
        seconds = time.perf_counter() - start
        found = json.loads(report.read_text()) if report.exists() else {}
    return seconds, status, found, shown


def tell(found):
    """Return what is worth knowing of a report."""
    pairs = found.get("comparison_results", [])
    notes = [note for each in found.get("inference_results", {}).values() for note in each.get("notes", [])]
    return {
        "tensors": len(found["tensors"]) if "tensors" in found else sum(len(pair["outputs"]) for pair in pairs),
        "verdict": found.get("sentence", ""),
        "first_bad": found.get("first_bad"),
        "notes": [*found.get("notes", []), *notes],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--options", default="", help="options of the backend trt, such as fp16")
    parser.add_argument("--candidate", default="trt")
    parser.add_argument("--reference", default="onnxrt")
    parser.add_argument("--limit", type=float, default=280.0)
    parser.add_argument("--only", nargs="*", default=("run", "mark-all", "locate"))
    known, rest = parser.parse_known_args()
    candidate = f"{known.candidate}:name={known.candidate},{known.options}".rstrip(",")
    common = [known.model, "-b", candidate, "-b", known.reference, *[word for word in rest if word != "--"]]
    whole = None
    for name in known.only:
        words = {"run": ["run"], "mark-all": ["run", "--mark-all"], "locate": ["locate"]}[name]
        seconds, status, found, shown = measure([words[0], *common, *words[1:]], known.limit)
        whole = whole or (seconds if name == "run" else None)
        line = {
            "command": name,
            "model": Path(known.model).name,
            "options": known.options,
            "seconds": round(seconds, 1),
            "multiple": round(seconds / whole, 2) if whole else None,
            "status": status,
            **tell(found),
        }
        if not found:
            line["shown"] = shown[-2000:]
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
