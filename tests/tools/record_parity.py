"""Run the parity list with Polygraphy and write the exit status of each line into the list.

    python tests/tools/record_parity.py PATH_TO_POLYGRAPHY [tests/data/parity.json …]

Needs Polygraphy 0.53.6 with ONNX, ONNX Runtime, onnxconverter-common and matplotlib beside it, and polycmp in the
interpreter that runs this.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from parity_folder import make_workshop  # noqa: E402 - the tests' folder is no package


def record(path: Path, polygraphy: str) -> None:
    """Write the status of every line of a list."""
    entries = json.loads(path.read_text())
    for entry in entries:
        with tempfile.TemporaryDirectory() as folder:
            make_workshop(Path(folder))
            words = [polygraphy, "run", *shlex.split(entry["run"])]
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
            entry["polygraphy"] = done.returncode
            entry["traceback"] = "Traceback" in done.stdout + done.stderr
            print(done.returncode, entry["polycmp"], entry["run"])
    write(path, entries)


def write(path: Path, entries: list[dict[str, object]]) -> None:
    """Write a list, one line an entry."""
    lines = [json.dumps(entry, ensure_ascii=False) for entry in entries]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    for name in sys.argv[2:] or [str(TESTS / "data" / "parity.json"), str(TESTS / "data" / "stricter.json")]:
        record(Path(name), sys.argv[1])
