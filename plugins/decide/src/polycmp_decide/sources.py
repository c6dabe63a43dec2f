"""Collections of pictures: those in a folder, and those of a data set that Hugging Face's `datasets` reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

from polycmp.errors import DataError, FileError, OthersCode, PluginError, UsageError, describe_exception
from polycmp.files import natural_order
from polycmp.report import Thumbnail

_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm"})
#: Pixels of a small picture in a report, at most.
_THUMBNAIL = (96, 96)
#: What the name of a data set begins with.
_PREFIX = "hf:"
#: Name of a column of labels that says of itself nothing else.
_LABEL = "label"


class Pictures(Protocol):
    """Pictures with names."""

    @property
    def names(self) -> Sequence[str]:
        """The names, in the order of the samples."""

    def open(self, name: str) -> Any:
        """Return a context manager that gives one of the pictures."""


class PictureFolder:
    """The pictures in a folder and its folders, or a single one.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @cached_property
    def names(self) -> list[str]:
        """The paths in the folder."""
        return list_pictures(self._folder)

    def open(self, name: str) -> Any:
        """Return a context manager that gives one of the pictures."""
        return open_picture(Path(self._folder, name))


class DataSet:
    """One split of a data set of Hugging Face's form, in a folder or on its hub.

    Args:
        source: `hf:` and the folder or the name, and behind `#` the split where there are several.

    Raises:
        PluginError: `datasets` is not installed.
        FileError: There is no such data set.
        UsageError: It has several splits, or not that one.
    """

    def __init__(self, source: str) -> None:
        path, _, split = source.removeprefix(_PREFIX).partition("#")
        try:
            import datasets
        except ImportError as error:
            raise PluginError(
                "reading data sets needs the package datasets", whose="decide", why=describe_exception(error),
                hint="pip install 'polycmp-decide[datasets]'",
            ) from error  # fmt: skip
        self._source = source
        marks = (datasets.config.DATASET_STATE_JSON_FILENAME, datasets.config.DATASETDICT_JSON_FILENAME)
        is_saved = any(Path(path, mark).exists() for mark in marks)
        hint = f"ls {path}" if Path(path).exists() else "hf:DIR with a data set, or its name on the hub"
        with OthersCode(FileError, "cannot read this data set", whose=source, hint=hint):
            data_set = datasets.load_from_disk(path) if is_saved else datasets.load_dataset(path)
        if isinstance(data_set, dict):
            splits = list(data_set)
            if split not in data_set and (split or len(splits) > 1):
                what = f"there is no split {split!r}" if split else f"which of the splits {', '.join(splits)}?"
                raise UsageError(what, whose=source, hint=f"{_PREFIX}{path}#{splits[-1]}")
            data_set = data_set[split or splits[0]]
        self._rows = data_set
        self._kinds = {"image": datasets.Image, "classes": datasets.ClassLabel}

    @property
    def names(self) -> list[str]:
        """The numbers of the rows."""
        return [str(number) for number in range(len(self._rows))]

    @contextmanager
    def open(self, name: str) -> Iterator[Any]:
        """Open the picture in a row.

        Raises:
            DataError: There is no column of pictures, or there are several.
        """
        with OthersCode(DataError, f"row {name} holds no picture", whose=self._source):
            picture = self._rows[int(name)][self._image]
        yield picture

    @cached_property
    def labels(self) -> list[Any]:
        """The labels, in the order of the rows; of classes their names.

        Raises:
            DataError: There is no column of labels, or there are several.
        """
        rows = self._rows[self._label]
        return [self.classes[label] if self.classes else str(label) for label in rows]

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes in their order; none where labels are no classes."""
        feature = self._rows.features[self._label]
        return tuple(feature.names) if isinstance(feature, self._kinds["classes"]) else ()

    @cached_property
    def _image(self) -> str:
        return self._only("image", "pictures")

    @cached_property
    def _label(self) -> str:
        columns = self._rows.features
        return _LABEL if _LABEL in columns else self._only("classes", f"labels, nor one called {_LABEL}")

    def _only(self, kind: str, words: str) -> str:
        columns = self._rows.features
        matching = [name for name, feature in columns.items() if isinstance(feature, self._kinds[kind])]
        if len(matching) == 1:
            return str(matching[0])
        what = f"it has the columns {', '.join(matching)}" if matching else f"it has no column of {words}"
        raise DataError(
            what, whose=self._source, why=f"its columns are {', '.join(columns)}",
            hint="keep one of them: dataset.select_columns([...]).save_to_disk(DIR)",
        )  # fmt: skip


def is_data_set(source: str) -> bool:
    """Return whether a source names a data set, not a folder or a file."""
    return source.startswith(_PREFIX)


def open_pictures(source: str) -> Pictures:
    """Return the pictures of a folder or a data set; errors as of these."""
    return DataSet(source) if is_data_set(source) else PictureFolder(source)


def thumbnail_of(pictures: Pictures, name: str) -> Thumbnail:
    """Return a small picture.

    Args:
        pictures: The pictures.
        name: Name of one of them.

    Raises:
        FileError: It cannot be read.
    """
    with pictures.open(name) as picture, BytesIO() as written:
        small = picture.convert("RGB")
        small.thumbnail(_THUMBNAIL)
        small.save(written, "PNG")
        return Thumbnail(written.getvalue(), name)


def list_pictures(folder: str) -> list[str]:
    """Return the pictures in a folder and its folders, relative to it, in an order in which 10 comes after 9.

    Args:
        folder: The folder, or a single picture.

    Raises:
        FileError: There is no such folder, or no picture in it.
    """
    root = Path(folder)
    if root.is_file():
        return [""]
    if not root.is_dir():
        raise FileError("no such folder", whose=folder, hint=f"ls {root.parent}")
    paths = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.suffix.lower() in _SUFFIXES]
    if not paths:
        raise FileError("this folder holds no pictures", whose=folder, why=f"known: {', '.join(sorted(_SUFFIXES))}")
    return sorted(paths, key=natural_order)


@contextmanager
def open_picture(path: str | Path) -> Iterator[Any]:
    """Open a picture.

    Raises:
        FileError: It cannot be read.
        PluginError: Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise PluginError(
            "reading pictures needs Pillow", whose="decide", why=describe_exception(error),
            hint="pip install 'polycmp-decide[pictures]'",
        ) from error  # fmt: skip
    try:
        with Image.open(path) as image:
            yield image
    except OSError as error:
        raise FileError("cannot read this picture", whose=str(path), why=describe_exception(error)) from error
