"""Labels of samples: a column of a file, or the folder that a picture lies in."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from polycmp.errors import DataError, FileError, UsageError, describe_exception
from polycmp_decide.coco import read_pictures
from polycmp_decide.sources import list_pictures


@dataclass(frozen=True)
class Labels:
    """The labels, in the order of a file.

    Attributes:
        labels: The labels.
        names: Names of the samples; none where the file gives none.
        source: The file, for messages.
        any_suffix: Whether the names of samples may have other suffixes.
    """

    labels: Sequence[Any]
    names: Sequence[str] = ()
    source: str = "--labels"
    any_suffix: bool = False

    def of(self, samples: Sequence[str]) -> list[Any]:
        """Return the labels in the order of samples.

        Raises:
            DataError: A sample has no label, or a label no sample.
        """
        if not self.names:
            if len(self.labels) != len(samples):
                raise DataError(f"{len(self.labels)} labels for {len(samples)} samples", whose=self.source)
            return list(self.labels)
        key = _stem if self.any_suffix else str
        by_name = {key(name): label for name, label in zip(self.names, self.labels, strict=True)}
        lacking = [name for name in samples if key(name) not in by_name]
        unknown = sorted(by_name.keys() - set(map(key, samples)))
        if lacking or unknown:
            text = f"no label for {lacking[0]}" if lacking else f"a label for {unknown[0]}, which is no sample"
            why = f"{len(lacking)} samples without a label, {len(unknown)} labels without a sample"
            raise DataError(text, whose=self.source, why=why)
        return [by_name[key(name)] for name in samples]


def _stem(name: str) -> str:
    return PurePosixPath(name).with_suffix("").as_posix()


def folder_classes(pictures: Sequence[str]) -> tuple[str, ...]:
    """Return the folders that pictures lie in, as classes in the model's order; none where they are numbers.

    Names are in alphabetical order, as training programs take them.

    Raises:
        UsageError: A picture lies in no folder.
    """
    folders = [PurePosixPath(name).parent.name for name in pictures]
    if not all(folders):
        lone = next(name for name, folder in zip(pictures, folders, strict=True) if not folder)
        raise UsageError(
            "what is right?", why=f"{lone} lies in no folder of its class, and no labels were given",
            hint="--labels FILE.csv, with the columns sample and label",
        )  # fmt: skip
    return () if all(item.isdecimal() for item in folders) else tuple(sorted(set(folders)))


def read_classes(path: str) -> tuple[str, ...]:
    """Return the lines of a file.

    Raises:
        FileError: It cannot be read.
    """
    try:
        return tuple(Path(path).read_text("utf-8").splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise FileError("cannot read the classes", whose=path, why=describe_exception(error)) from error


def read_labels(path: str) -> Labels:
    """Return the labels in a file, or those that are pictures in a folder.

    A .csv file has the column `label`, and `sample` where the order does not tell; a .json file is COCO's.

    Raises:
        FileError: It cannot be read.
        DataError: It does not hold what it should.
    """
    if Path(path).is_dir():
        names = list_pictures(path)
        return Labels([str(Path(path, name)) for name in names], names, path, any_suffix=True)
    if path.lower().endswith(".json"):
        pictures = read_pictures(path)
        return Labels([*pictures.values()], [*pictures], path)
    return read_csv(path)


def read_csv(path: str) -> Labels:
    """Return the labels in a file with the column `label`, by the column `sample` where there is one.

    Raises:
        FileError: It cannot be read.
        DataError: It has no such column, or a sample twice.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileError("cannot read the labels", whose=path, why=describe_exception(error)) from error
    columns = list(rows[0]) if rows else []
    if "label" not in columns:
        raise DataError(
            "has no column label", whose=path, why=f"its columns are {', '.join(map(str, columns)) or 'none'}",
            hint="begin it with the line sample,label",
        )  # fmt: skip
    if "sample" not in columns:
        return Labels([row["label"] for row in rows], source=path)
    names = [row["sample"] for row in rows]
    if twice := next((name for name, number in Counter(names).items() if number > 1), ""):
        raise DataError(f"has the sample {twice!r} twice", whose=path)
    return Labels([row["label"] for row in rows], names, path)
