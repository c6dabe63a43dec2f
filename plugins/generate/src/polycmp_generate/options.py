"""The options of `polycmp generate`. Light: a help text needs them."""

from __future__ import annotations

from dataclasses import dataclass

from polycmp.spec import check_at_least_one, opt, parse_above_zero, parse_confidence


@dataclass(frozen=True)
class GenerateSection:
    """Generating."""

    prompts: str = opt(
        "",
        help="Prompts, a line each: text where there is a tokenizer, else numbers of tokens with spaces between them.",
        metavar="FILE",
    )
    tokenizer: str = opt("", help="The tokenizer: tokenizer.json, or a folder that holds it.", metavar="FILE|DIR")
    batch: int = opt(1, help="Texts that the new side takes at once; the old side takes one at a time.")
    max_kl: float = opt(
        0.01,
        help="The divergence that is still well: of the next token's probabilities, in nats per token.",
        metavar="NATS",
        parse=parse_above_zero,
    )
    confidence: float = opt(95.0, help="How sure to be, in per cent.", metavar="PERCENT", parse=parse_confidence)

    save_worst: str = opt(
        "", help="Write the inputs of the worst prompt, for polycmp locate.", metavar="FILE", writes=True
    )

    def __post_init__(self) -> None:
        check_at_least_one(self, "batch")
