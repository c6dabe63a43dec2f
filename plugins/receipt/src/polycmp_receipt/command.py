"""`polycmp check receipt`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from polycmp.command import BackendCommand, examples, verbosity_params
from polycmp.spec import opt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polycmp.command import Invocation
    from polycmp.report import Block, Verdict
    from polycmp_receipt.checking import ReceiptCheck


@dataclass(frozen=True)
class CheckSection:
    """Checking."""

    exact: bool = opt(False, help="Refuse a receipt whose outputs have other bits here.")
    allow_scripts: bool = opt(False, help="Run code that the receipt names: scripts, interpreters, packages.")


def _receipt(call: Invocation) -> int:
    from polycmp.report import Result
    from polycmp.sentences import heading_of
    from polycmp_receipt.checking import check

    path, section = call.params["file"], call.section(CheckSection)
    call.begin(reads=[("FILE", path)])
    with call.progress() as on_stage:
        result = check(path, call.registry, scripts=section.allow_scripts, exact=section.exact, on_stage=on_stage)
    verdict: Verdict = "failed" if result.breaches else "passed"
    sentence = (
        f"the receipt is refused: {result.breaches[0]}"
        if result.breaches
        else f"repeated: the verdict is {result.stated.verdict}, as the receipt says"
    )
    return call.present(
        Result(
            command="check receipt",
            verdict=verdict,
            heading=heading_of(verdict),
            sentence=sentence,
            title=path,
            content=tuple(_blocks(result)),
            command_line=call.options.command,
            document={
                "schema": 1, "verdict": verdict, "command": call.options.command,
                "receipt": {"breaches": list(result.breaches), "differences": list(result.differences)},
            },
        )
    )  # fmt: skip


def _blocks(result: ReceiptCheck) -> Iterator[Block]:
    from polycmp.report import Fact, Facts, Note

    stated = result.stated
    facts = [Fact(path, f"SHA-256 {digest}") for path, digest in stated.files.items()]
    facts += [Fact(label, version) for label, version in stated.versions.items()]
    facts += [Fact("command", stated.command)]
    yield Facts("What the receipt states", tuple(facts))
    yield from (Note(text, label="breach") for text in result.breaches[1:])
    yield from (Note(text) for text in result.differences)


receipt_command = BackendCommand(
    "receipt",
    _receipt,
    options=(CheckSection, "result.report", "log"),
    plugins=("report",),
    params=[
        click.Argument(["file"]),
        *verbosity_params("more messages and all outputs"),
    ],
    help="Repeat the comparison that FILE states, with the files whose digests it has, and say whether the same comes "
    "out. `polycmp run --receipt FILE` writes such files."
    + examples("polycmp run m.onnx -b onnxrt -b onnx --receipt r.json", "polycmp check receipt r.json"),
    epilog="Exit status: 0 repeated, 1 refused, 2 wrong usage, 3 could not be repeated.",
)
