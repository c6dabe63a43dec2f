"""Print what the programs of `tests/polygraphy_programs` print with Polygraphy, as JSON.

    python tests/tools/record_programs.py PYTHON_OF_POLYGRAPHY > tests/data/polygraphy-0.53.6/programs.json

Runs in the interpreter of the tests; the one that it is given has Polygraphy 0.53.6.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))


def main(python: str) -> None:
    """Print."""
    from test_polygraphy_table import PROGRAMS, printed, write_models

    found = {}
    for row in PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            write_models(Path(folder))
            command = [python, str(TESTS / "polygraphy_programs" / f"{row.what}.py")]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=240)
            found[row.what] = printed(done)
    json.dump(found, sys.stdout, indent=1, sort_keys=True)
    print()


if __name__ == "__main__":
    main(sys.argv[1])
