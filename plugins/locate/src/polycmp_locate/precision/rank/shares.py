"""Share of the outputs' error that each layer causes, estimated from measured errors.

Errors of different layers are taken for independent, so that their powers add up: the error after a layer is its
own error and a part of what arrived before it. From the outputs back to the inputs, these parts multiply to what an
error at each place becomes at the outputs. One number for a tensor cannot tell errors in a large channel from those in
small ones, so this is no more than the order in which layers are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polycmp_locate.precision.rank.result import LayerFigures, Powers

#: An error that is infinite counts as so many times the signal.
_MAX_ERROR_RATIO = 1e6
#: At least this share of the error after a layer comes through it: the two parts are not quite independent.
_MIN_SHARE = 0.01


def estimate_shares(layers: Sequence[LayerFigures], outputs: Iterable[str]) -> None:
    """Set `share` of all layers.

    Args:
        layers: The layers in the model's order; those before them that are exact are needed, too.
        outputs: Names of the model's outputs.
    """
    known = {name: powers for item in layers for name, powers in item.powers.items()}
    weight = {name: 1.0 / known[name].signal for name in outputs if name in known and known[name].signal}
    layer_errors = []
    for item in reversed(layers):
        here = [(powers, weight[name]) for name, powers in item.powers.items() if name in weight]
        layer_error = sum(_limited(powers.layer_error, powers) * by for powers, by in here)
        behind = sum(_limited(powers.arrived, powers) * by for powers, by in here)
        before = sum(_limited(known[name].arrived, known[name]) for name in item.layer.inputs if name in known)
        through = max(behind - layer_error, _MIN_SHARE * behind) / before if before else 0.0
        for name in item.layer.inputs:
            weight[name] = weight.get(name, 0.0) + through
        layer_errors.append(layer_error)
    total = sum(layer_errors) or 1.0
    for item, layer_error in zip(reversed(layers), layer_errors, strict=True):
        item.share = layer_error / total


def _limited(power: float, powers: Powers) -> float:
    return min(power, _MAX_ERROR_RATIO * powers.signal)
