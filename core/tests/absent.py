"""Makes a process look as if the core were installed alone: no model format, no runtime, none of our plugins.

`commandline.py` switches it on around the core's tests in their own process; `alone/sitecustomize.py` does it in every
Python process that they start.
"""

from __future__ import annotations

import os
import site
import sys
from importlib.metadata import MetadataPathFinder
from pathlib import Path

#: Libraries that the core must do without.
LIBRARIES = frozenset({"onnx", "onnxruntime", "onnx_ir", "onnxconverter_common", "onnxruntime_extensions", "tensorrt"})


#: The environment variable with the packages of ours that stay, for tests of a plugin beside the core.
BESIDE = "POLYCMP_TEST_BESIDE"


def hidden_metadata():
    """Return the folders of metadata of the libraries and of our plugins that are installed in this environment."""
    patterns = ["polycmp_*", *(f"{name}*" for name in sorted(LIBRARIES))]
    folders = [Path(folder) for folder in site.getsitepackages()]
    found = {info for folder in folders for pattern in patterns for info in folder.glob(f"{pattern}.dist-info")}
    return {info for info in found if info.name.partition("-")[0] not in os.environ.get(BESIDE, "").split()}


class Absence:
    """Hides the libraries, and our plugins with their metadata, between `begin` and `end`."""

    def __init__(self):
        found = hidden_metadata()
        self._metadata = {str(info) for info in found}
        self._modules = LIBRARIES | {info.name.partition("-")[0] for info in found}
        self._imported = {}

    def begin(self):
        """Hide them; what is imported already is put aside."""
        self._imported = {name: sys.modules.pop(name) for name in list(sys.modules) if self._is_hidden(name)}
        sys.meta_path.insert(0, self)
        self._search = MetadataPathFinder.find_distributions
        MetadataPathFinder.find_distributions = self._find_distributions

    def end(self):
        """Show them again."""
        MetadataPathFinder.find_distributions = self._search
        sys.meta_path.remove(self)
        sys.modules.update(self._imported)

    def find_spec(self, name, path=None, target=None):
        """Refuse the import of what is hidden, as Python does for what is not there."""
        if self._is_hidden(name):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    def find_distributions(self, *args, **kwargs):
        """Return none of its own. It is here so that everyone asks `importlib.metadata`, which is changed above."""
        return ()

    def _is_hidden(self, name):
        return name.partition(".")[0] in self._modules

    def _find_distributions(self, *args, **kwargs):
        # The path is private, but reading the name of each distribution instead would cost every command 20 ms.
        found = self._search(*args, **kwargs)
        return [item for item in found if str(getattr(item, "_path", "")) not in self._metadata]
