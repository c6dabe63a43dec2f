"""Print what the programs of `tests/polygraphy_programs` print with Polygraphy, as JSON.

    python tests/tools/record_programs.py PYTHON_OF_POLYGRAPHY > tests/data/polygraphy-0.53.6/programs.json

Runs in the interpreter of the tests; the one that it is given has Polygraphy 0.53.6.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))


def main(python: str) -> None:
    """Print."""
    from test_polygraphy_programs import PROGRAMS, printed

    found = {}
    for program in PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            found[program.stem] = printed(Path(folder), python, program)
    json.dump(found, sys.stdout, indent=1, sort_keys=True)
    print()


if __name__ == "__main__":
    main(sys.argv[1])
