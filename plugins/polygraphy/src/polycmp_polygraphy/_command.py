"""What the processes that a program starts find: a program called `polygraphy`, and its modules."""

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


#: The folder with a `sitecustomize` that answers `import polygraphy` in new interpreters.
_STARTUP = str(Path(__file__).with_name("startup"))
_PYTHONPATH = "PYTHONPATH"


def follow_children() -> None:
    """Have `import polygraphy` answered in the interpreters that this process starts, those of multiprocessing too."""
    os.environ[_PYTHONPATH] = os.pathsep.join([_STARTUP, *_others()])


def leave_children() -> None:
    """Have the interpreters that this process starts import what is installed."""
    if _PYTHONPATH in os.environ:
        os.environ[_PYTHONPATH] = os.pathsep.join(_others())


def _others() -> list[str]:
    return [entry for entry in os.environ.get(_PYTHONPATH, "").split(os.pathsep) if entry not in {"", _STARTUP}]


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
