"""The place of baselines: a file for each case's last pass, in whatever fsspec opens, replaced whole or not at all."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import FileError, PluginError, PolycmpError, describe_exception, hide_passwords
from polycmp.files import atomic_write

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_CHUNK = 1 << 20


def is_uri(text: str) -> bool:
    """Return whether a baseline is a place of last passes, and not a path of past runs."""
    return "://" in text


class BaselineStore:
    """Files by name below a URI.

    Args:
        uri: The place: `file://`, `s3://`, `gs://` or whatever else fsspec knows.

    Attributes:
        uri: The place without passwords, to be shown.
        exists: Whether there is anything.

    Raises:
        PluginError: fsspec, or the package that it needs for this kind of place, is not installed.
        FileError: The place cannot be read.
    """

    def __init__(self, uri: str) -> None:
        self.uri: str = hide_passwords(uri)
        self._files, self._root = _open(uri)
        with self._fence("cannot read the baseline"):
            self.exists: bool = self._is_there()

    def _is_there(self) -> bool:
        with suppress(FileNotFoundError):
            if not self._files.isfile(self._root):
                return bool(self._files.ls(self._root, detail=False))
            raise FileError(
                f"the baseline {self.uri} is a file",
                why="a baseline is a folder with a file for each case",
                hint=f"--baseline {self.uri}.d",
            )
        return False

    def place_of(self, name: str) -> str:
        """Return the address of a file, to be shown."""
        return f"{self.uri.rstrip('/')}/{name}"

    def fetch(self, name: str, target: Path) -> bool:
        """Copy a file from the store; return whether there is one.

        Raises:
            FileError: The store cannot be read, or the file not be written.
        """
        with self._fence(f"cannot read the baseline {self.place_of(name)}"):
            try:
                with self._files.open(self._path(name), "rb") as source, atomic_write(target, lasting=False) as file:
                    while chunk := source.read(_CHUNK):
                        file.write(chunk)
            except FileNotFoundError:
                return False
        return True

    def keep(self, name: str, source: Path) -> None:
        """Copy a file into the store, in place of what has its name; an error leaves that as it was.

        Raises:
            FileError: The store cannot be written.
        """
        with self._fence(f"cannot write the baseline {self.place_of(name)}"):
            if self._is_local:
                with source.open("rb") as file, atomic_write(self._path(name)) as target:
                    while chunk := file.read(_CHUNK):
                        target.write(chunk)
                return
            part = self._path(f".{name}.{uuid.uuid4().hex}.part")
            self._files.makedirs(self._root, exist_ok=True)
            try:
                self._files.put_file(str(source), part)
                self._files.mv(part, self._path(name))
            except BaseException:
                with suppress(Exception):
                    self._files.rm_file(part)
                raise

    @property
    def _is_local(self) -> bool:
        """Whether files can be replaced by renaming, which elsewhere copies: a whole file, so that no half is seen."""
        protocol = self._files.protocol
        return "file" in ((protocol,) if isinstance(protocol, str) else protocol)

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    @contextmanager
    def _fence(self, what: str) -> Iterator[None]:
        """Turn whatever a kind of store raises into an error in words."""
        try:
            yield
        except PolycmpError:
            raise
        except Exception as error:
            text = what if self.uri in what else f"{what} {self.uri}"
            raise FileError(text, why=describe_exception(error), hint="what is kept there is as it was") from error


def _open(uri: str) -> tuple[AbstractFileSystem, str]:
    """Return the file system of a URI, and the path in it.

    Raises:
        PluginError: A package is missing.
        FileError: It is no URI that fsspec knows.
    """
    what = f"the baseline {hide_passwords(uri)}"
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise PluginError(
            f"{what} needs fsspec", why="it is not installed", hint="pip install 'polycmp-suite[baseline]'"
        ) from error
    try:
        options: dict[str, Any] = {"use_listings_cache": False}
        files, root = url_to_fs(uri, **options)
    except ImportError as error:
        raise PluginError(f"{what} cannot be opened", why=describe_exception(error)) from error
    except Exception as error:
        raise FileError(f"{what} cannot be opened", why=describe_exception(error)) from error
    return files, str(root)
