"""Installs what scenarios can be done without, where this runs: other runtimes, trained files, torch and transformers.

Each is tried once and then again only if it failed or its list changed; whatever fails is said, and nothing depends on
it: the scenarios for which it is missing are left out and named in the table.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from truth.exporting import FOLDER, names

HERE = Path(__file__).parent
#: Lists of packages, options of pip for each, and seconds after which it is given up.
_LISTS = (("runtimes.txt", (), 240), ("files.txt", ("--no-deps",), 240), ("exporters.txt", (), 600))
_EXPORTING = 300


def _once(name: str, content: bytes, do: Callable[[], str]) -> str:
    """Do something unless it was done for the same content, and return why it failed; empty if it did not."""
    stamp = Path(sys.prefix) / f"{name}.done"
    known = hashlib.sha256(content).hexdigest()
    if stamp.exists() and stamp.read_text("utf-8") == known:
        return ""
    why = do()
    if not why:
        stamp.write_text(known, "utf-8")
    return why


def _run(words: list[str], seconds: int) -> str:
    """Run a command quietly and return its last words if it fails."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)[-300:]
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return "" if done.returncode == 0 else (said[-1] if said else f"exit status {done.returncode}")[-300:]


def _install(name: str, options: tuple[str, ...], seconds: int) -> str:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *options]
    return _once(name, (HERE / name).read_bytes(), lambda: _run([*pip, "-r", str(HERE / name)], seconds))


def _export() -> str:
    if all((FOLDER / f"{name}.onnx").exists() for name, _, _ in names()):
        return ""
    return _run([sys.executable, "-m", "truth.exporting"], _EXPORTING)


def main() -> int:
    """Install and export what can be, and say what cannot; never an error."""
    for name, options, seconds in _LISTS:
        why = _install(name, options, seconds)
        if why:
            print(f"truth/{name} cannot be installed, so scenarios that need it are left out: {why}", flush=True)
    why = _export()
    if why:
        print(f"not all of transformers' models can be exported; the scenarios of the others are left out: {why}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
