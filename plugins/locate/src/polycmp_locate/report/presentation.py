"""Result of `locate` in the form that reports render."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from polycmp import sentences
from polycmp.errors import EXIT_DIFFERENT
from polycmp.report import (
    Block,
    Cell,
    CellValue,
    Column,
    Fact,
    Facts,
    Histogram,
    Note,
    Result,
    Table,
    duration,
    error_histogram,
    figure,
)
from polycmp.report import Row as ReportRow
from polycmp.sentences import ERROR, FOUND, NO_FAULT, backends_failed
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.report.along import along_graph
from polycmp_locate.report.document import document_of
from polycmp_locate.report_builder import build_result
from polycmp_locate.values.judged import NOT_JUDGED, UNDECIDED
from polycmp_locate.values.located import Located
from polycmp_locate.values.measured import Row

_COLUMNS = (
    Column("Operator"),
    Column("Max abs", "number"),
    Column("Relative", "number", digits=2, wanted=1),
    Column("Jump", "number"),
    Column("Own", "number", digits=2, wanted=2),
)


def result_of(located: Located, *, explain: bool = False) -> Result:
    """Build the result of the search for reports.

    Args:
        located: Result of the search.
        explain: Whether a terminal shows the figures behind the sentence; pages always do.
    """
    failed = located.failed_backends
    only_failures = bool(failed) and located.exit_code != EXIT_DIFFERENT
    if only_failures:
        heading, sentence = ERROR, backends_failed([backend.label for backend in failed])
        sentence += f"; seen without that: {located.sentence}" if located.sentence else ""
    else:
        heading = _heading(located)
        sentence = located.sentence.removeprefix(f"{UNDECIDED}: ")  # the heading says so
    return build_result(
        "locate",
        located.status,
        heading,
        sentence,
        full_sentence=located.sentence,
        title=located.candidate,
        typed=located.command,
        seconds=located.seconds,
        timed=not only_failures,
        document=document_of(located),
        facts=_facts(located),
        failed=failed,
        content=_content(located),
        notes=located.notes,
        explained=[Note(text, label="", terminal=explain) for text in located.explain],
        files=[located.saved] if located.saved else (),
    )


def _heading(located: Located) -> str:
    judged = located.judged
    if judged.verdict == UNDECIDED:
        return sentences.UNDECIDED
    if judged.verdict == NOT_JUDGED:
        return ERROR
    return FOUND if located.exit_code == EXIT_DIFFERENT else NO_FAULT


def _content(located: Located) -> Iterator[Block]:
    judged = located.judged
    if judged.rows:
        yield along_graph(located)
        yield _table(located)
    if judged.first_bad is not None:
        yield _operator(judged.first_bad, located)
    if judged.seen_probe is not None:
        yield Note(judged.seen_probe.sentence, label="probe check")


def _facts(located: Located) -> Iterator[Fact]:
    judged = located.judged
    yield Fact("candidate", located.candidate)
    yield Fact("reference", located.reference)
    yield Fact("tensors", str(len(judged.rows)))
    yield from _pairing_facts(located)
    yield Fact("outside the tolerance", str(sum(not row.passed for row in judged.rows)))
    yield Fact("first bad", judged.first_bad.tensor if judged.first_bad else "–")
    yield Fact("duration", duration(located.seconds))


def _pairing_facts(located: Located) -> Iterator[Fact]:
    """Yield facts on the pairing of the tensors of different models."""
    pairing = located.pairing
    if pairing is None:
        return
    yield Fact("paired", ", ".join(f"{count} by {method}" for method, count in pairing.counts.items()))
    for label, unmatched, real in (
        (located.candidate, pairing.unmatched_candidate, pairing.candidate_floats),
        (located.reference, pairing.unmatched_reference, pairing.reference_floats),
    ):
        yield Fact(f"without counterpart in {label}", f"{len(unmatched)} of {len(real)}")


def _table(located: Located) -> Table:
    against = f"{located.candidate} against {located.reference}"
    return Table(
        title=f"{against}, in model order",
        rows=tuple(_row(row, located) for row in located.judged.rows),
        columns=_COLUMNS,
        name_title="Tensor",
        drawing_title="Distribution",
        heading="Tensors in the order of the graph",
        subject=located.candidate,
        suite=f"locate {against}",
        causal=True,
    )


def _row(row: Row, located: Located) -> ReportRow:
    chosen = row is located.judged.first_bad
    fine = row.passed or (row.is_matched and row.tensor not in {item.output for item in located.judged.finals})
    lines = [f"operator: {row.node.label}"]
    if _has_error(row):
        lines.append(f"largest error: {row.max_abs:.6g} absolute, {row.relative:.6g} relative")
    reason = row.reason or (f"not computed by {located.candidate}" if row.candidate is None and not row.passed else "")
    lines += [reason] if reason else []
    if row.is_borrowed and not chosen:  # one side made it for both, so that its figures are no figures
        why = f"not judged: {located.candidate} made it for both"
        return ReportRow(
            row.tensor, "skipped", (row.node.op_type,), why, mark="-", type=row.type, lines=(lines[0], why)
        )
    return ReportRow(
        name=row.tensor,
        state="passed" if fine and not chosen else "failed",
        cells=(row.node.op_type, *_figures(row)),
        reason=reason,
        mark="FIRST" if chosen else "origin" if row is located.judged.origin else "ok" if fine else "bad",
        type=row.type,
        chosen=chosen,
        remarks=(_both(row, located), *_pair(row, located)),
        drawing=_distribution(row),
        looks={
            name: seen[key] for name, seen in located.looks.items() if (key := (located.candidate, row.tensor)) in seen
        },
        edge=f"{row.reference or row.candidate or 'not seen'}"
        + (f", error {figure(row.max_abs, 2)}" if _has_error(row) else ""),
        lines=(*lines, *(located.explain if chosen else ())),
    )


def _pair(row: Row, located: Located) -> list[str]:
    """Return the counterpart of a tensor, and the operators of both models that make it."""
    node = row.node
    if not isinstance(node, PartNode):
        return []
    lines = [f"paired by {node.method} with {node.counterpart!r} of {located.reference}"]
    if node.candidate_ops != node.reference_ops:
        of_candidate = ", ".join(node.candidate_ops)
        of_reference = ", ".join(node.reference_ops) or "nothing, it is the same tensor"
        lines.append(f"made by {of_candidate}; in {located.reference} by {of_reference}")
    return [*lines, f"coarsest type inside: {node.coarsest}"] if node.coarsest else lines


def _distribution(row: Row) -> Histogram | None:
    histogram = row.stats.histogram if row.stats is not None else None
    return error_histogram(histogram.edges, histogram.counts) if histogram is not None else None


def _has_error(row: Row) -> bool:
    """Return whether an error was measured: not of what one side did not make, or is infinite on one side alone."""
    return row.passed or row.is_matched or row.max_abs > 0


def _figures(row: Row) -> tuple[CellValue, ...]:
    jump: CellValue = None
    if row.jump:
        jump = Cell("new" if math.isinf(row.jump) else f"x{row.jump:.3g}", float(row.jump))
    return (
        float(row.max_abs) if _has_error(row) else None,
        float(row.relative) if _has_error(row) else None,
        jump,
        None if row.standalone is None else float(row.standalone.relative),
    )


def _both(row: Row, located: Located) -> str:
    """Describe the content of both sides' tensors, as far as they computed them."""
    sides = [(row.candidate, located.candidate), (row.reference, "reference")]
    return ", ".join(f"{tensor} ({label})" for tensor, label in sides if tensor is not None)


def _operator(row: Row, located: Located) -> Facts:
    node = row.node
    references = {item.tensor: item.reference for item in located.judged.rows}
    read = [(name, row.inputs.get(name) or references.get(name)) for name in node.inputs]
    return Facts(node.label, tuple(_operator_facts(row, read, located)), tuple(_operator_lines(row, read, located)))


def _operator_facts(row: Row, read: Sequence[tuple[str, object]], located: Located) -> Iterator[Fact]:
    judged = located.judged
    yield Fact("domain", row.node.domain or "ai.onnx")
    yield from (Fact(f"attribute {name}", str(value)) for name, value in row.node.attributes.items())
    for name, tensor in read:
        yield Fact(f"reads {name}", str(tensor) if tensor is not None else "a weight or an input")
    yield Fact(f"computes {row.tensor}", f"{row.type}: {_both(row, located)}")
    if judged.last_good is not None:
        yield Fact("last good before it", f"{judged.last_good.tensor}, {judged.last_good.relative:.2g} relative")


def _operator_lines(row: Row, read: Sequence[tuple[str, object]], located: Located) -> Iterator[str]:
    judged = located.judged
    node = row.node
    yield f"operator: {node.label}" + (f" of domain {node.domain}" if node.domain else "")
    yield from (f"  attribute {name} = {value}" for name, value in node.attributes.items())
    for name, tensor in read:
        yield f"  reads {name!r}" + (f": {tensor}" if tensor is not None else "")
    of_candidate = f"{row.candidate} ({located.candidate}), " if row.candidate is not None else ""
    yield f"  computes {row.tensor!r} {row.type}: {of_candidate}{row.reference} (reference)"
    if row.reason:
        yield f"  {row.reason}"
    if judged.last_good is not None:
        yield f"last good before it: {judged.last_good.tensor!r}, relative error {judged.last_good.relative:.2g}"
