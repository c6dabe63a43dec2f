"""Python imports this at its start wherever this folder is on the path: see `absent.py` in the folder above."""

from __future__ import annotations

import atexit
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from absent import Absence

del sys.path[0]

Absence().begin()


def _write_modules(path):
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    names = [name for name in (*sys.modules, spec.name if spec else "") if name.startswith("polycmp")]
    with open(path, "a", encoding="utf-8") as file:
        file.write("\n".join(names) + "\n")


if os.environ.get("POLYCMP_TEST_MODULES"):
    atexit.register(_write_modules, os.environ["POLYCMP_TEST_MODULES"])
