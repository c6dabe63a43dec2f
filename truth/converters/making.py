"""Lets one producer convert the models of some folders, in whatever environment it runs: `python -m … NAME FOLDER…`."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from truth.converters.producers import PRODUCERS, Producer, shuffled


def target_of(folder: Path, producer: str) -> Path:
    """Return where the file goes that a producer makes of the model in a folder.

    Args:
        folder: The folder.
        producer: The producer's name.
    """
    return folder / f"{re.sub(r'[^a-zA-Z0-9]+', '-', producer)}.onnx"


def make(producer: Producer, folder: Path, target: Path) -> None:
    """Have a producer convert the model in a folder, or write beside the target why it could not.

    It is given a copy of the model: some write what they infer about shapes back into the file that they read, which is
    the source that all others are given and judged beside.

    Args:
        producer: The producer.
        folder: The folder.
        target: The file to make.
    """
    with np.load(folder / "x.npz") as held:
        feeds = shuffled(dict(held))
    here = Path.cwd()
    with TemporaryDirectory() as scratch:
        try:
            producer.make(Path(shutil.copy(folder / "model.onnx", scratch)), target, feeds)
        except BaseException as error:  # noqa: BLE001  whatever a converter raises is its answer
            target.unlink(missing_ok=True)
            target.with_suffix(".why").write_text(f"{type(error).__name__}: {error}"[:300], "utf-8")
        os.chdir(here)


def main() -> None:
    """Convert, and write beside each file that could not be made why."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    name, *folders = sys.argv[1:]
    producer = next(item for item in PRODUCERS if item.name == name)
    for folder in map(Path, folders):
        target = target_of(folder, name)
        if not target.exists() and not target.with_suffix(".why").exists():
            make(producer, folder, target)


if __name__ == "__main__":
    main()
