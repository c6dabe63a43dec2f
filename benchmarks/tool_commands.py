"""Run the lines of `tests/tool_commands.py` with polycmp and with an installed Polygraphy; print where they differ.

    python benchmarks/tool_commands.py path/to/polygraphy

Both need ONNX and ONNX Runtime; Polygraphy also needs onnx_graphsurgeon and onnxconverter-common. The exit status is
1 if a line succeeds with one and fails with the other, leaves a traceback with polycmp, or if the table says otherwise.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from tool_commands import lines, make_files


def run(program: list[str], words: list[str]) -> tuple[int, str, float]:
    """Return exit status, output and seconds of one line, in a folder with fresh files."""
    with tempfile.TemporaryDirectory() as folder:
        make_files(Path(folder))
        start = time.perf_counter()
        done = subprocess.run([*program, *words], cwd=folder, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr, time.perf_counter() - start


def main() -> int:
    """Run all lines with both."""
    polygraphy = [sys.argv[1] if len(sys.argv) > 1 else "polygraphy"]
    polycmp = [sys.executable, "-m", "polycmp"]
    wrong, ours_took, theirs_took = 0, 0.0, 0.0
    for theirs_expected, ours_expected, words in lines():
        theirs, _, seconds = run(polygraphy, words)
        ours, text, ours_seconds = run(polycmp, words)
        theirs_took, ours_took = theirs_took + seconds, ours_took + ours_seconds
        notes = [
            *(["one succeeds and the other fails"] if bool(theirs) != bool(ours) else []),
            *(["the table says otherwise"] if (theirs, ours) != (theirs_expected, ours_expected) else []),
            *(["a traceback"] if "Traceback" in text else []),
        ]
        wrong += bool(notes)
        print(f"{theirs} {ours}  {' '.join(words)}  {'; '.join(notes)}".rstrip())
    print(f"{len(lines())} lines, {wrong} wrong; Polygraphy took {theirs_took:.1f} s, polycmp {ours_took:.1f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
