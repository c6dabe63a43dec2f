"""The references that come with this package; importing it registers them.

Each calculates in float64 unless it says otherwise, and rounds once, to the type of its input. TensorRT's kernels
calculate in float32 (or float16), so what differs from a reference is TensorRT's own rounding, not the reference's.
Formulas were read in TensorRT's open-source plugins; each function names the place.
"""

from polycmp_pluginref.ops import activation, layout, normalization, regions, suppression

__all__ = ["activation", "layout", "normalization", "regions", "suppression"]
