"""Check whether the run of a receipt can be repeated here."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.command import GivenOption, code_named
from polycmp.errors import FileError, UsageError
from polycmp.options import changed_options, find_field
from polycmp.plan import Plan, from_values, without_written_files
from polycmp.session import run_plan
from polycmp_receipt.plugin import ReceiptOptions
from polycmp_receipt.statement import Receipt, digest_of, load

if TYPE_CHECKING:
    from polycmp.plugins import Registry

Stage = Callable[[str], None]


@dataclass(frozen=True)
class ReceiptCheck:
    """A receipt beside its repetition.

    Attributes:
        stated: The receipt.
        repeated: The receipt of the run that repeats it; None where it was refused before.
        breaches: Deviations from the receipt, for which it is refused.
        differences: Differences that need not matter: versions, the machine, single bits.
    """

    stated: Receipt
    repeated: Receipt | None
    breaches: tuple[str, ...]
    differences: tuple[str, ...] = ()


def check(
    path: str, registry: Registry, *, scripts: bool, exact: bool, on_stage: Stage = lambda _: None
) -> ReceiptCheck:
    """Repeat the run of a receipt.

    Args:
        path: The receipt.
        registry: The plugins.
        scripts: Whether code that it names may run.
        exact: Whether all bits of the outputs have to be the same.
        on_stage: Told in words what happens next.

    Raises:
        FileError: It cannot be read, or is none.
        UsageError: It names code, which may not run.
        PolycmpError: Nothing could be run.
    """
    stated = load(path)
    breaches = tuple(_other_files(stated))
    if breaches:
        return ReceiptCheck(stated, None, breaches)
    plan = without_written_files(from_values(stated.run, registry))
    harm = None if scripts else next(_harm_in(plan, registry), "")
    if harm:
        raise UsageError(
            f"it names {harm}", whose=path, why="a receipt may come from anybody",
            hint=f"read it, and then: polycmp check receipt {path} --allow-scripts",
        )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        again = str(Path(folder) / "receipt.json")
        run_plan(replace(plan, observer_options={"receipt": ReceiptOptions(again)}), registry, on_stage)
        repeated = load(again)
    bits = list(_other_bits(stated, repeated))
    breaches = (*_other_results(stated, repeated), *(bits if exact else ()))
    return ReceiptCheck(stated, repeated, breaches, (*_elsewhere(stated, repeated), *(() if exact else bits)))


def _harm_in(plan: Plan, registry: Registry) -> Iterator[str]:
    """Yield descriptions of the code that a plan names, and of the files that it writes, such as caches.

    Args:
        plan: The plan, without other files that it writes.
        registry: The plugins.
    """
    compare, data = plan.compare, plan.data
    scripts = (compare.script, compare.postprocess_script, data.script)
    yield from (f"code: a script {text!r}" for text in scripts if text)
    instances: list[Any] = [data.loader.options, *data.followers.values(), *plan.loader_options.values()]
    instances += [choice.options for choice in compare.functions]
    instances += [backend.options for backend in plan.backends]
    given = [option for instance in instances for option in _changed_options(instance)]
    models = [model for model in (plan.model, *(backend.model for backend in plan.backends)) if model]
    yield from (f"code: {name} {text!r}" for name, text in code_named(given, models, plan.backends, registry))
    yield from (f"a file to write: {option.name} {text!r}" for option in given for text in option.written)


def _changed_options(instance: Any) -> Iterator[GivenOption]:
    for name, value in changed_options(instance).items() if instance is not None else ():
        field = find_field(type(instance), name)
        if field is not None:
            yield GivenOption(name, field, value)


def _other_files(stated: Receipt) -> Iterator[str]:
    for path, digest in stated.files.items():
        why = _is_other(path, digest)
        if why:
            yield why


def _is_other(path: str, digest: str) -> str:
    """Describe the difference of a file from the one that a receipt states; empty if there is none."""
    try:
        same = digest_of(path) == digest
    except FileError as error:
        return f"{path} {error.what}: {error.why}"
    return "" if same else f"{path} is another file: its SHA-256 does not begin with {digest[:12]}"


def _other_results(stated: Receipt, repeated: Receipt) -> Iterator[str]:
    if repeated.inputs != stated.inputs:
        yield "the inputs are others"
    for candidate, name, one, two in _pairs(stated.verdicts, repeated.verdicts):
        if one != two:
            yield f"{name!r} of {candidate} is {two or 'not compared'}, and the receipt says {one or 'nothing of it'}"
    if repeated.verdict != stated.verdict:
        yield f"the verdict is {repeated.verdict}, and the receipt says {stated.verdict}"


def _other_bits(stated: Receipt, repeated: Receipt) -> Iterator[str]:
    for label, name, one, two in _pairs(stated.outputs, repeated.outputs):
        if one != two:
            yield f"{name!r} of {label} has other bits"


def _elsewhere(stated: Receipt, repeated: Receipt) -> Iterator[str]:
    for key, _, one, two in _pairs({"versions": stated.versions}, {"versions": repeated.versions}):
        del key
        if one != two:
            yield f"another release runs here: {two or 'none'}, there {one or 'none'}"
    for key, one in stated.environment.items():
        two = repeated.environment.get(key, "")
        if one != two:
            yield f"{key}: {two or 'nothing'} here, there {one}"


def _pairs(
    one: Mapping[str, Mapping[str, str]], two: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[str, str, str, str]]:
    """Yield the entries of two tables of tables, with an empty text for what one of them lacks."""
    for outer in dict.fromkeys((*one, *two)):
        one_table, other_table = one.get(outer, {}), two.get(outer, {})
        for inner in dict.fromkeys((*one_table, *other_table)):
            yield outer, inner, one_table.get(inner, ""), other_table.get(inner, "")
