"""TensorRT, imported when it is first used, under the names of `polygraphy.mod.trt_importer`."""

from __future__ import annotations

from typing import Any

from polycmp_polygraphy.mod.importer import lazy_import


def tensorrt_module_and_version_string() -> str:
    """Return the name of TensorRT's module and the oldest version that works."""
    return "tensorrt>=8.5"


def lazy_import_trt() -> Any:
    """Return TensorRT, which is imported when one of its names is first used."""
    return lazy_import(tensorrt_module_and_version_string())
