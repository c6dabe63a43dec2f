"""Constants under the names of `polygraphy.constants`."""

from __future__ import annotations

from polycmp_onnx import MARK_ALL as MARK_ALL
from polycmp_polygraphy.config import AUTOINSTALL_DEPS as AUTOINSTALL_DEPS
from polycmp_polygraphy.config import INTERNAL_CORRECTNESS_CHECKS as INTERNAL_CORRECTNESS_CHECKS

DEFAULT_SHAPE_VALUE = 1
DEFAULT_SEED = 1
TAB = " " * 4
LEGACY_TYPE_MARKER = "polygraphy_serialized_json_type"
TYPE_MARKER = "polygraphy_class"
