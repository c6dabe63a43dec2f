"""Types that the builder chose for a whole model, in which engines of its parts calculate, too.

Where float16 is allowed, the builder takes for each layer what it measured to be faster. An engine of a part, or one
with more outputs, is measured anew: it may calculate in float32 what the whole calculates in float16, and then shows no
fault of a model that float16 cannot hold.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from polycmp_trt.build.layers import Layer
from polycmp_trt.build.network_edit import is_calculated
from polycmp_trt.build.network_parts import layers
from polycmp_trt.features import import_tensorrt

if TYPE_CHECKING:
    import tensorrt as trt

__all__ = ["SharedTypes", "chosen_types"]

#: Types that a builder may choose by speed: as layers.py calls them, and flags of the builder -> `tensorrt.DataType`.
_NARROW = {"FP16": "HALF", "BF16": "BF16"}
_REAL = {**_NARROW, "FP32": "FLOAT"}
#: What the builder writes around the names of the layers that it fused.
_FUSED = re.compile(r"PWN\(|\)| \+ |, ")
#: The builder's name of what its compiler made of many layers, whose types it does not tell.
_COMPILED = "ForeignNode["


@cache
def _types_of_process() -> dict[Hashable, Mapping[str, str]]:
    """Return the types of the layers of whole models that this process built, by model and options."""
    return {}


class SharedTypes:
    """Types of the layers of a whole model's engine, for the engines of its parts.

    Args:
        key: What tells the model and its options from others.
        reads: Whether builds take the types over. A whole model is left to the builder and only adds its types.
    """

    def __init__(self, key: Hashable, *, reads: bool) -> None:
        self._key, self._reads = key, reads

    def lend(self, config: trt.IBuilderConfig, network: trt.INetworkDefinition) -> None:
        """Ask the builder for the types that the whole model's engine has, if there was one.

        Args:
            config: The `tensorrt.IBuilderConfig` of the coming build.
            network: The part.
        """
        types = _types_of_process().get(self._key) if self._reads else None
        if not types:
            return
        flags, data_types = import_tensorrt().BuilderFlag, import_tensorrt().DataType
        narrow = [name for name in _NARROW if name in types.values()]
        for name in _NARROW.keys() - {*narrow}:
            if hasattr(flags, name):
                config.clear_flag(getattr(flags, name))
        if not narrow:
            return
        config.set_flag(flags.PREFER_PRECISION_CONSTRAINTS)
        usual = max(narrow, key=[*types.values()].count)
        for layer in layers(network):
            kind = types.get(layer.name, usual)
            if kind in _REAL and is_calculated(layer):
                layer.precision = getattr(data_types, _REAL[kind])

    def collect(self, layers: Sequence[Layer]) -> None:
        """Keep the types of a whole model's engine.

        Args:
            layers: The engine's layers.
        """
        if not self._reads:
            _types_of_process()[self._key] = chosen_types(layers)


def chosen_types(layers: Sequence[Layer]) -> dict[str, str]:
    """Return the types of an engine's layers, by the names of the network's layers; none if that cannot be told.

    It cannot where no layer is known to be narrow, and the builder compiled some of which it tells no types.

    Args:
        layers: The engine's layers.
    """
    known = [layer for layer in layers if _COMPILED not in layer.name]
    types = {name: layer.precision for layer in known for name in _fused(layer.name) if layer.precision}
    is_told = len(known) == len(layers) or not _NARROW.keys().isdisjoint(types.values())
    return types if is_told else {}


def _fused(name: str) -> Iterator[str]:
    """Yield the names of the network's layers in the name of an engine's layer."""
    return filter(None, _FUSED.split(name))
