"""Has a script go through files in a process of its own, and go on behind a file that it dies of."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any


def ask_each(
    words: Sequence[str], names: Sequence[str], seconds: float, environ: Mapping[str, str] | None = None
) -> dict[str, Mapping[str, Any]]:
    """Return what a script prints of each file, by the file's name.

    The script reads names from standard input. Of each file it prints a line of JSON with `file` and `begun`, and then
    one with `file` and its answer. A file that it dies of is `refused`.

    Args:
        words: The command.
        names: The files.
        seconds: How long each process may take.
        environ: Its environment; None for that of this process.

    Raises:
        RuntimeError: It printed nothing.
        subprocess.TimeoutExpired: It took longer.
    """
    waiting, found = list(names), dict[str, Mapping[str, Any]]()
    while waiting:
        done = subprocess.run(
            words, env=environ, input="\n".join(waiting), capture_output=True, text=True, timeout=seconds, check=False
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if not lines:
            raise RuntimeError(f"{' '.join(words)}: {done.stderr[-300:]}")
        found.update({line["file"]: line for line in lines})
        last = lines[-1]["file"]
        if lines[-1].get("begun"):
            found[last] = {"refused": f"the process died: {done.returncode}"}
        waiting = waiting[waiting.index(last) + 1 :]
    return found
