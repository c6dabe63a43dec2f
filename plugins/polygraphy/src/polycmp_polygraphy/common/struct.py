"""Metadata of tensors under the names of `polygraphy.common`."""

from __future__ import annotations

from polycmp.tensors import TensorEntry as MetadataTuple
from polycmp.tensors import TensorMetadata as TensorMetadata
