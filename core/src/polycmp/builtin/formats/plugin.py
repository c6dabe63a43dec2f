"""Contributions of this package: the light module that polycmp reads."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import FormatSpec, hookimpl


@hookimpl
def polycmp_formats() -> Iterable[FormatSpec]:
    """Contribute the formats."""
    yield FormatSpec(
        ".json",
        "Exchangeable with Polygraphy",
        reader="polycmp.builtin.formats.jsonfile:read",
        writer="polycmp.builtin.formats.jsonfile:make_writer",
    )
    yield FormatSpec(
        ".npz",
        "NumPy's archives; large arrays are mapped, not read",
        reader="polycmp.builtin.formats.npzfile:read_npz",
        writer="polycmp.builtin.formats.npzfile:NpzWriter",
    )
    yield FormatSpec(
        ".npy",
        "One array of NumPy; it is called output",
        reader="polycmp.builtin.formats.npyfile:read_npy",
    )
    yield FormatSpec(
        ".safetensors",
        "Tensors as Hugging Face's tools read them",
        reader="polycmp.builtin.formats.safetensorsfile:read_safetensors",
        writer="polycmp.builtin.formats.safetensorsfile:SafetensorsWriter",
        needs=("safetensors",),
    )
