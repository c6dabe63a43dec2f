"""A program called `polygraphy` for the processes that a program starts."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from polycmp.process import module_words
from polycmp_polygraphy._answering import NAME, OURS

#: The program runs polycmp, and answers `import polygraphy` in the scripts that its options name.
_WORDS = (*module_words(f"{OURS}.__main__"), "-m", "polycmp")


def put_on_path() -> None:
    """Have the words `polygraphy …` run polycmp in the processes that this one starts."""
    folder = Path(tempfile.mkdtemp(prefix="polycmp-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if os.name == "nt":
        (folder / f"{NAME}.bat").write_text(f"@{subprocess.list2cmdline(_WORDS)} %*\n", encoding="utf-8")
    else:
        program = folder / NAME
        program.write_text(f'#!/bin/sh\nexec {shlex.join(_WORDS)} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    os.environ["PATH"] = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PATH")])])
