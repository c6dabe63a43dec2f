"""What this package contributes: the light module that polycmp reads."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import FormatSpec, hookimpl


@hookimpl
def polycmp_formats() -> Iterable[FormatSpec]:
    """Contribute the formats."""
    yield FormatSpec(
        ".json",
        "Exchangeable with Polygraphy",
        reader="polycmp_formats.jsonfile:read",
        writer="polycmp_formats.jsonfile:make_writer",
    )
    yield FormatSpec(
        ".npz",
        "NumPy's archives; large arrays are mapped, not read",
        reader="polycmp_formats.npzfile:read_npz",
        writer="polycmp_formats.npzfile:NpzWriter",
    )
    yield FormatSpec(
        ".safetensors",
        "Tensors as Hugging Face's tools read them",
        reader="polycmp_formats.safetensorsfile:read_safetensors",
        writer="polycmp_formats.safetensorsfile:SafetensorsWriter",
        needs=("safetensors",),
    )
