"""The options of `polycmp tune`. Light: a help text needs them."""

from __future__ import annotations

from dataclasses import dataclass

from polycmp.spec import check_at_least_one, opt, parse_above_zero, parse_count


@dataclass(frozen=True)
class TuneSection:
    """Tuning."""

    matrix: tuple[str, ...] = opt((), help="Settings to try: backends with options, as -b has them.", metavar="SPEC")
    seconds: float = opt(2.0, help="How long each setting is timed.", metavar="S", parse=parse_above_zero)
    rounds: int = opt(5, help="How often settings take turns, which tells the noise of the timing.")
    warm_up: int = opt(3, help="Calls of each setting before it is timed.", parse=parse_count)
    streams: int = opt(1, help="Sessions of a setting that are called at the same time.")
    write_config: str = opt(
        "", help="Write the run file of the fastest setting beside the reference.", metavar="FILE.toml", writes=True
    )

    def __post_init__(self) -> None:
        check_at_least_one(self, "rounds", "streams")
