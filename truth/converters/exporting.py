"""Exports the networks of one framework where that is installed: `python -m truth.converters.exporting NAME FOLDER`."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import warnings
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import numpy as np

from truth.converters.frameworks import Framework
from truth.converters.making import target_of


def main() -> None:
    """Write a folder for each network: inputs, what the framework computes, and each exporter's file or why not."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    name, into, chosen = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    framework: Framework = import_module(f"truth.converters.frameworks.{name}").FRAMEWORK
    releases = {package: version(package) for package in framework.packages}
    (into / "releases.json").write_text(json.dumps(releases), "utf-8")
    for network, make in framework.networks.items():
        folder = into / re.sub(r"\W+", "-", network)
        targets = {exporter: target_of(folder, exporter) for exporter in framework.exporters}
        missing = [one for one, file in targets.items() if not file.exists() and not file.with_suffix(".why").exists()]
        if not missing or not re.search(chosen, folder.name):
            continue
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "exporters.json").write_text(json.dumps(list(framework.exporters)), "utf-8")
        made = make()
        np.savez(folder / "x.npz", allow_pickle=False, **made.inputs)
        np.savez(folder / "golden.npz", *made.outputs)
        for exporter in missing:
            target, here = targets[exporter], Path.cwd()
            try:
                framework.exporters[exporter](made, target.with_suffix(".new"))
                target.with_suffix(".new").replace(target)
            except BaseException as error:  # noqa: BLE001  whatever an exporter raises is its answer
                target.with_suffix(".why").write_text(f"{type(error).__name__}: {error}"[:600], "utf-8")
            os.chdir(here)
    if not chosen:
        (into / "complete").touch()


if __name__ == "__main__":
    main()
