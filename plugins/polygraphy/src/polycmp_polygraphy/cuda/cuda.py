"""Streams and device memory under the names of `polygraphy.cuda`."""

from __future__ import annotations

from polycmp_trt import DeviceArray as DeviceArray
from polycmp_trt import DeviceView as DeviceView
from polycmp_trt import Stream as Stream
