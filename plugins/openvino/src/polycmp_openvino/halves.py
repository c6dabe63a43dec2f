"""Weights that an OpenVINO IR holds in half precision, as its .xml tells without OpenVINO."""

from __future__ import annotations

from xml.etree import ElementTree


def holds_half_weights(path: str) -> bool:
    """Return whether a file holds weights in float16 that it widens before they are used; not what cannot be read."""
    try:
        root = ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, OSError, UnicodeDecodeError):
        return False  # whoever runs it says why
    layers = {layer.get("id"): layer for layer in root.iter("layer")}
    return any(
        _type_of(layers.get(edge.get("from-layer")), "Const", "element_type") == "f16"
        and _type_of(layers.get(edge.get("to-layer")), "Convert", "destination_type") in {"f32", "f64"}
        for edge in root.iter("edge")
    )


def _type_of(layer: ElementTree.Element | None, kind: str, attribute: str) -> str | None:
    data = layer.find("data") if layer is not None and layer.get("type") == kind else None
    return None if data is None else data.get(attribute)
