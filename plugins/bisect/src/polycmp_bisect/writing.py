"""Runs the command that writes a model, with another file in the model's place."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from polycmp.errors import UsageError
from polycmp_bisect.environments.errors import NotInstallableError

#: Seconds that the command may take.
_TIMEOUT = 1800.0


def check_step(step: Sequence[str], model: str) -> None:
    """Refuse a command that does not write the model.

    Raises:
        UsageError: None of its words is the model.
    """
    if model not in step:
        raise UsageError(
            f"no word of the command is {model}, the model that it writes",
            whose=shlex.join(step),
            hint="polycmp bisect out.onnx -b onnxrt -b onnxrt:model=m.onnx --over onnxslim -- onnxslim m.onnx out.onnx",
        )


def state_of(step: Sequence[str]) -> list[tuple[int, int]]:
    """Return the sizes and times of the files that a command names, on which its output depends."""
    files = [Path(word).stat() for word in step if Path(word).is_file()]
    return [(item.st_size, item.st_mtime_ns) for item in files]


def write_model(
    step: Sequence[str], model: str, target: Path, name: str, environ: Mapping[str, str] | None = None
) -> None:
    """Run a command with a file in the place of the model that it writes.

    Args:
        step: The words of the command.
        model: The word that stands for the model.
        target: The file.
        name: Name of the command in errors.
        environ: Environment variables; by default those of this process.

    Raises:
        NotInstallableError: It fails, or writes nothing.
    """
    words = [str(target) if word == model else word for word in step]
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(
            words, env=dict(os.environ if environ is None else environ), capture_output=True, text=True,
            errors="replace", timeout=_TIMEOUT, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise NotInstallableError(f"{shlex.join(words)} of {name} did not end", why=str(error)) from None
    if done.returncode or not target.exists():
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        what = "ended" if done.returncode else "wrote no model, and ended"
        raise NotInstallableError(
            f"the command of {name} {what} with status {done.returncode}", why=lines[-1] if lines else ""
        )
