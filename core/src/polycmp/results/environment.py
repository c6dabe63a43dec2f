"""Where a run took place: versions and machine, for reports."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

from polycmp.errors import describe_exception


def describe_environment() -> dict[str, str]:
    """Return versions of Python, polycmp and NumPy, the platform, and the processor; nothing that names a person."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "polycmp": _version("polycmp"),
        "numpy": _version("numpy"),
        "platform": platform.platform(),
        "cpu": _processor(),
        "cpu_count": str(os.cpu_count() or 0),
    }


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError as error:
        return f"unknown ({describe_exception(error)})"


def _processor() -> str:
    """Return the processor's model name, which Linux tells in a file only."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()
