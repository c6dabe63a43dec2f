"""Environments of their own for what converters need."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

HERE = Path(__file__).parent


def environment(requires: str, folder: Path) -> tuple[str, str]:
    """Return the Python that has what a producer requires, and why there is none; installs it where it is missing.

    Args:
        requires: The name of the list of packages; empty for this environment.
        folder: Where environments are kept.
    """
    if not requires:
        return sys.executable, ""
    folder = folder / requires
    python, stamp = folder / "bin" / "python", folder / "installed"
    wanted = HERE / "requirements" / f"{requires}.txt"
    if stamp.exists() and stamp.read_text("utf-8") == wanted.read_text("utf-8"):
        return str(python), ""
    venv.create(folder, with_pip=False)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    around = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "around.pth").write_text("\n".join(around), "utf-8")
    words = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python), "install", "-q"]
    try:
        done = subprocess.run([*words, "-r", str(wanted)], capture_output=True, text=True, timeout=900, check=False)
    except subprocess.TimeoutExpired:
        return "", "installing took too long"
    if done.returncode:
        return "", (done.stderr.strip().splitlines() or ["pip failed"])[-1][:200]
    stamp.write_text(wanted.read_text("utf-8"), "utf-8")
    return str(python), ""
