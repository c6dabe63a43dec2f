"""Loaders of files under the names of `polygraphy.backend.common`."""

from __future__ import annotations

from polycmp.loader import BytesFromPath as BytesFromPath
from polycmp.loader import InvokeFromScript as InvokeFromScript
from polycmp.loader import SaveBytes as SaveBytes
from polycmp.loader import bytes_from_path as bytes_from_path
from polycmp.loader import invoke_from_script as invoke_from_script
from polycmp.loader import save_bytes as save_bytes
