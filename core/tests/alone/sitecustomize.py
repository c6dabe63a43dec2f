"""Python imports this at its start wherever this folder is on the path: see `absent.py` in the folder above."""

from __future__ import annotations

import atexit
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from absent import Absence

del sys.path[0]

Absence().begin()


def _write(names):
    with open(os.environ["POLYCMP_TEST_MODULES"], "a", encoding="utf-8") as file:
        file.write("\n".join(name for name in names if name.startswith("polycmp")) + "\n")


if os.environ.get("POLYCMP_TEST_MODULES"):  # one test asks which modules are imported
    words = " ".join(sys.orig_argv)  # who is started with `-m MODULE` or `-c` may end without a word
    _write(["polycmp.__main__"] if "-m polycmp " in words else re.findall(r"[\w.]+", words))
    atexit.register(lambda: _write(list(sys.modules)))
