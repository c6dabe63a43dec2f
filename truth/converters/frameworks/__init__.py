"""Networks of frameworks, and the exporters that write them as ONNX; each module runs where its framework is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Exportable:
    """A network in its framework, with what it computes there.

    Attributes:
        network: The framework's own object.
        inputs: What it is fed, by name in the order in which it takes them.
        outputs: What the framework computes of that, in order.
        free: The dimensions of each input that may have other sizes: place and name.
    """

    network: Any
    inputs: Mapping[str, Array]
    outputs: Sequence[Array]
    free: Mapping[str, Mapping[int, str]]


Export = Callable[[Exportable, Path], None]


@dataclass(frozen=True)
class Framework:
    """Networks of one framework and its exporters.

    Attributes:
        networks: By name.
        exporters: By name: writes a network to a file.
        packages: The distributions whose releases the table names.
    """

    networks: Mapping[str, Callable[[], Exportable]]
    exporters: Mapping[str, Export]
    packages: Sequence[str]


def rows(*shape: int, seed: int = 1) -> Array:
    """Return numbers of the normal distribution as float32.

    Args:
        shape: The shape.
        seed: Of the generator.
    """
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def words(*shape: int, below: int, seed: int = 2) -> Array:
    """Return whole numbers from 0 on.

    Args:
        shape: The shape.
        below: The end of the range, excluded.
        seed: Of the generator.
    """
    return np.random.default_rng(seed).integers(0, below, shape)
