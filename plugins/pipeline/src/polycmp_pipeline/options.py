"""The options of `polycmp pipeline`. Light: a help text needs them."""

from __future__ import annotations

from dataclasses import dataclass

from polycmp.spec import opt


@dataclass(frozen=True)
class PipelineSection:
    """Stages."""

    save_inputs: str = opt(
        "",
        help="Save what the reference gives each model to a folder in this one, for --load-inputs.",
        metavar="DIR",
        writes=True,
    )
