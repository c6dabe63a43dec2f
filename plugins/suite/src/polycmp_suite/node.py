"""A case on a machine of a cluster: its files come from the cluster, its results go back as bytes."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from polycmp.errors import FileError
from polycmp.files import digest_of
from polycmp_suite.running.process import GRACE, CaseProcess
from polycmp_suite.spec import Ended, Job

#: Seconds after which a file that no case has used is removed from a machine.
_CACHE_SECONDS = 7 * 24 * 3600.0
#: Bytes of one file that a case has written; a larger one does not come back.
_MAX_FILE_BYTES = 64 << 20
_POLL = 0.02


@dataclass(frozen=True)
class Shipped:
    """A file that a case reads.

    Attributes:
        path: Path of the file, relative to the folder in which the case is started.
        digest: The SHA-256 of its content.
    """

    path: str
    digest: str


def is_inside(path: str) -> bool:
    """Return whether a path stays in the folder that it is relative to."""
    return not path.startswith("/") and ".." not in PurePosixPath(path).parts


def write_inside(folder: Path, files: Mapping[str, bytes]) -> list[str]:
    """Write files that came from elsewhere into a folder; return the names of those that would lead out of it."""
    outside = [name for name in files if not is_inside(name)]
    for name in files.keys() - outside:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(files[name])
    return outside


def execute(
    job: Job, files: Sequence[Shipped], fetch: Callable[[str], bytes], node: str
) -> tuple[Ended, Mapping[str, bytes], int]:
    """Run a job here.

    Args:
        job: The job, with the folders of the machine that it comes from.
        files: The files that it reads.
        fetch: Gives the content that belongs to a digest; asked once a machine for each.
        node: Identifier that tells this machine from others that share its file system.

    Returns:
        Its exit status and times, the files that it wrote, and the number of files that were fetched for it.
    """
    cache = private_folder(Path(tempfile.gettempdir()) / f"polycmp-suite-{os.getuid()}") / node
    cache.mkdir(exist_ok=True, mode=0o700)
    _sweep(cache)
    place = Path(tempfile.mkdtemp(prefix="case-", dir=cache))
    try:
        folder, output = place / "folder", place / "output"
        output.mkdir()
        folder.mkdir()
        fetched = sum(place_file(item, folder, cache, fetch) for item in files)
        words = tuple(
            str(output) + word[len(job.output) :] if word.startswith(job.output) else word for word in job.words
        )
        ended = _run(replace(job, words=words, folder=str(folder), output=str(output), shares_process=False))
        return replace(ended, job=job), _written(output), fetched
    finally:
        shutil.rmtree(place, ignore_errors=True)


def private_folder(folder: Path) -> Path:
    """Create a folder that only this user can write; another user may own one of that name in a shared place.

    Raises:
        FileError: Another user made it, or others may write into it.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o022:
        raise FileError(
            f"the folder {folder} on {socket.gethostname()} does not belong to this user alone",
            why="files of cases are kept in it, which another user could replace",
            hint=f"remove it, or chmod 700 {folder}",
        )
    folder.chmod(0o700)  # an earlier release left it readable
    return folder


def place_file(item: Shipped, folder: Path, cache: Path, fetch: Callable[[str], bytes]) -> bool:
    """Link a file into the case's folder; return whether it had to be fetched.

    Args:
        item: The file.
        folder: The folder of the case.
        cache: Folder of files by their digests on this machine; one that does not match its digest is fetched again.
        fetch: Gives the content that belongs to a digest.
    """
    cached, target = cache / item.digest, folder / item.path
    fetched = not cached.exists() or digest_of(cached) != item.digest
    if fetched:
        handle, name = tempfile.mkstemp(prefix="part-", dir=cache)
        with os.fdopen(handle, "wb") as file:
            file.write(fetch(item.digest))
        Path(name).replace(cached)
    os.utime(cached)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(cached)
    return fetched


def _run(job: Job) -> Ended:
    process = CaseProcess(job, where=socket.gethostname())
    try:
        while (ended := process.look()) is None:
            time.sleep(_POLL)
        return ended
    except BaseException:  # the cluster gives the case up: nothing of it may go on
        process.stop("interrupted")
        end = time.monotonic() + GRACE
        while process.look() is None and time.monotonic() < end:
            time.sleep(_POLL)
        process.kill()
        raise


def _written(output: Path) -> dict[str, bytes]:
    contents = {}
    for path in sorted(output.rglob("*")):
        if path.is_file() and path.stat().st_size <= _MAX_FILE_BYTES:
            contents[path.relative_to(output).as_posix()] = path.read_bytes()
    return contents


def _sweep(cache: Path) -> None:
    """Remove files that have not been used for long."""
    with suppress(OSError):
        for path in cache.iterdir():
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _CACHE_SECONDS:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
