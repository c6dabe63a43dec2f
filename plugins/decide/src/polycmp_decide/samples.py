"""The samples that a command names: their names, and what is right of each."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from polycmp.errors import UsageError
from polycmp_decide.decision_run import Samples
from polycmp_decide.labels import Labels, folder_classes, read_classes, read_labels
from polycmp_decide.sources import DataSet, is_data_set, open_pictures

if TYPE_CHECKING:
    from polycmp.plan import Plan
    from polycmp_decide.options import DecideSection


def open_samples(plan: Plan, section: DecideSection) -> tuple[Samples, tuple[str, ...]]:
    """Return the samples in the order of the inputs, and the names of the classes.

    Args:
        plan: The plan, which says where the inputs come from.
        section: What was said of labels.

    Raises:
        UsageError: It is not said what is right, or the inputs come from two places.
        FileError: A file cannot be read.
        DataError: Labels and pictures do not belong together.
    """
    classes = read_classes(section.classes) if section.classes else ()
    data = plan.data
    if data.loader.name == "pictures" and (data.files or data.script):
        other = "--load-inputs" if data.files else "--data-loader-script"
        raise UsageError("two sources of inputs", whose=f"--data and {other}", hint="give only one of them")
    folder = data.loader.options.folder if data.loader.name == "pictures" else ""
    pictures = list(open_pictures(folder).names) if folder else []
    if is_data_set(section.labels or folder):
        rows = DataSet(section.labels or folder)
        labels, classes = Labels(rows.labels, source=section.labels or folder), classes or rows.classes
    elif section.labels:
        labels = read_labels(section.labels)
    elif pictures:
        classes = classes or folder_classes(pictures)
        labels = Labels([PurePosixPath(name).parent.name for name in pictures], pictures, folder)
    else:
        raise UsageError("what is right?", why="no labels were given", hint="--labels FILE.csv, with the column label")
    names = pictures or labels.names or [str(number) for number in range(len(labels.labels))]
    return Samples(names, labels.of(names) if pictures else labels.labels, labels.source), classes
