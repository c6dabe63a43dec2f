"""The file that each step writes for a check: which name the check knows it by, and whether the check reads it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from polycmp.errors import UsageError

__all__ = ["AccessTime", "artifact_of"]

#: Names that checks use where nobody chose one: those of this program, and of the one that most tutorials are about.
_USUAL = re.compile(r"(?:.*[\\/])?(?:polygraphy|polycmp)_debug\.\w+")
#: What stands between names in one word: `bash -c "run a.onnx"`, `onnxrt:model=a.onnx,name=b`.
_NAMES = re.compile(r"[^\s,;=\"'()]+")
#: Size in bytes above which a file is no script.
_LARGEST_SCRIPT = 2**20
#: An access time that no file has, in nanoseconds: 1 January 1980, the earliest that every file system keeps.
_LONG_AGO = 315_532_800 * 10**9


def artifact_of(words: Sequence[str], suffixes: Sequence[str], default: str) -> str:
    """Return the name by which the words of a check call the file that steps write.

    That is `polygraphy_debug.onnx` or `polycmp_debug.onnx`, or else the only file of such a kind that is not there yet,
    or else the first of these two names in a script that the words run.

    Args:
        words: Words of the check.
        suffixes: Suffixes of files that steps can write.
        default: Name of the file where the words do not say it.

    Raises:
        UsageError: The words say `polygraphy_debug.engine`, say, and steps write no such file.
    """
    names = dict.fromkeys(name for word in words for name in _NAMES.findall(word))
    fitting = [name for name in names if Path(name).suffix.lower() in suffixes and not name.startswith("-")]
    usual = [name for name in fitting if _USUAL.fullmatch(name)]
    if not usual and (others := list(filter(_USUAL.fullmatch, names))):
        raise UsageError(
            f"--check: the command reads {others[0]}, and no step writes a {Path(others[0]).suffix} file",
            hint=f"{default} in its place",
        )
    lacking = [name for name in fitting if not Path(name).exists()]
    artifact = usual or lacking or _in_scripts(names, suffixes)
    return artifact[0] if len(artifact) == 1 else default


def _in_scripts(names: Iterable[str], suffixes: Sequence[str]) -> list[str]:
    """Return the usual name of the file in the first script among some names that has one: `sh check.sh`, say."""
    for name in names:
        path = Path(name)
        if path.suffix.lower() in suffixes or not path.is_file() or path.stat().st_size > _LARGEST_SCRIPT:
            continue
        words = _NAMES.findall(path.read_text(encoding="utf-8", errors="replace"))
        fitting = [word for word in words if _USUAL.fullmatch(word) and Path(word).suffix.lower() in suffixes]
        if fitting:
            return fitting[:1]
    return []


class AccessTime:
    """Tells whether a file was read since this was made, as far as its file system tells."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._set = self._access()

    def has_moved(self) -> bool:
        """Return whether the file was read for certain; many file systems do not keep the time."""
        try:
            return self._set is not None and self._path.stat().st_atime_ns != self._set
        except OSError:
            return False

    def _access(self) -> int | None:
        """Set the time to one long ago, since most file systems renew only old ones; return it."""
        try:
            os.utime(self._path, ns=(_LONG_AGO, self._path.stat().st_mtime_ns))
            return self._path.stat().st_atime_ns
        except OSError:
            return None
