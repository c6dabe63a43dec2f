"""Input data: random numbers, shapes, pairs of inputs, and fitting data to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp._builtin_options import RandomOptions
from polycmp.data.coerce import coerce_feed
from polycmp.data.dimensions import merge_inputs
from polycmp.data.input_pairs import InputPairs, pair_inputs, renamed
from polycmp.data.random import make_random, remarks
from polycmp.data.scalars import usual_numbers
from polycmp.data.shapes import feeds_in_turn
from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp.data.script import make_script_loader

__all__ = [
    "InputPairs",
    "RandomOptions",
    "coerce_feed",
    "feeds_in_turn",
    "make_random",
    "make_script_loader",
    "merge_inputs",
    "pair_inputs",
    "remarks",
    "renamed",
    "usual_numbers",
]

if not TYPE_CHECKING:  # not without a user's script
    __getattr__, __dir__ = lazy_names(__name__, {"script": ["make_script_loader"]})
