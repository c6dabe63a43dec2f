"""Paths of one command that must not be the same: what one option writes, and what another writes or reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from polycmp.errors import UsageError
from polycmp.files import located
from polycmp.options import FlagTable, OptionField, OptionValues, fields_of
from polycmp.options.values import split_script

if TYPE_CHECKING:
    from polycmp.plan import Plan

_IS_PATH = re.compile(r"\b(FILE|PATH|DIR)\b")

#: Seconds by which the clock of a file system may be slow.
_GRAIN = 0.05

Named = tuple[str, str]  # an option or what else it is, and the path as it was typed


class _Written(NamedTuple):
    """A path that is written.

    Attributes:
        option: The option that names it.
        path: The path as it was typed.
        shared: Whether it is a folder for files of names of their own, which it may share.
        exclusive: Whether, without a suffix, it is a folder that is the option's alone.
        resumes: The option whose file it may go on with; empty for none.
    """

    option: str
    path: str
    shared: bool = False
    exclusive: bool = False
    resumes: str = ""


def refuse_collisions(values: OptionValues, plan: Plan | None = None, others: Iterable[Named] = ()) -> None:
    """Refuse paths of which one would overwrite another, however they are spelled, before anything runs.

    Args:
        values: The options.
        plan: The plan made of them: its models, and files that plugins' options name.
        others: Further files that are read.

    Raises:
        UsageError: Two options mean one file, and at least one of them writes it.
    """
    written: list[_Written] = []
    read = [*others, *(_models(plan) if plan is not None else ())]
    for field, path in _core_paths(values):
        option = _flag(field.name)
        if not field.writes:
            read.append((option, split_script(path, "")[0] if field.metavar.startswith("FILE.py") else path))
        else:
            resumes = _flag(field.resumes) if field.resumes else ""
            written.append(_Written(option, path, "DIR" in field.metavar, field.metavar == "PATH", resumes))
    written += _of_reports(plan) if plan is not None else []
    of_plugins = list(_of_plugins(plan)) if plan is not None else []
    for index, item in enumerate(written):
        for other in written[:index]:
            if _same(item.path, other.path) and not (item.shared and other.shared):
                raise _collision(item.option, item.path, f"{other.option} writes", other.path)
        others_read = [named for named in read if named[0] != item.resumes]
        _refuse_overwriting(item.option, item.path, others_read, fills=item.exclusive)
        for whose, another in of_plugins:
            if _same(item.path, another):
                raise _collision(item.option, item.path, f"{whose} names", another)
    for whose, path in of_plugins:
        if whose.rpartition(" ")[2].startswith("save"):
            _refuse_overwriting(whose, path, read)


def written_paths(values: OptionValues, table: FlagTable) -> Iterator[str]:
    """Yield the files and folders that options which were given name, and that they write.

    Args:
        values: The options.
        table: The options by flag, each with its declaration.
    """
    yield from (path for field, path in _core_paths(values) if field.writes and path != "-")
    for key, value in values.values.items():
        target = table.targets.get(key) if key.kind != "core" else None
        if target is not None and target.field.writes and _IS_PATH.search(target.field.metavar):
            yield from (path for path in _texts(value) if path != "-")


def was_written(path: str, since: float) -> bool:
    """Return whether there is a file, or a folder with one in it, that was written since a time."""
    located_path = located(path)
    with suppress(OSError):
        if located_path.is_dir():
            return any(item.is_file() and item.stat().st_mtime >= since - _GRAIN for item in located_path.rglob("*"))
        return located_path.stat().st_mtime >= since - _GRAIN
    return False


def _refuse_overwriting(option: str, path: str, read: Iterable[Named], *, fills: bool = False) -> None:
    """Refuse a path that is read, too, or a folder to fill in which something lies that is read."""
    for other, another in read:
        if _same(path, another) or (fills and not Path(path).suffix and _same(path, str(Path(another).parent))):
            raise _collision(option, path, f"{other} reads", another)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _collision(option: str, path: str, other: str, another: str) -> UsageError:
    return UsageError(
        f"{option} would overwrite what {other}: {another}",
        why="" if path == another else f"{path} leads there",
        hint="give each its own path",
    )


def _core_paths(values: OptionValues) -> Iterator[tuple[OptionField, str]]:
    """Yield the paths in a command's own sections, each with the option that names it."""
    for section in values.sections.values():
        for field in fields_of(section):
            if _IS_PATH.search(field.metavar):
                yield from ((field, path) for path in _texts(getattr(section, field.name)))


def _models(plan: Plan) -> Iterator[Named]:
    if plan.model:
        yield "MODEL", _file_of(plan.model)
    yield from ((f"-b {item.label}", _file_of(item.model)) for item in plan.backends if item.model)


def _file_of(model: str) -> str:
    return model if located(model).exists() else split_script(model, "")[0]


def _of_plugins(plan: Plan) -> Iterator[Named]:
    """Yield the files and folders that plugins' options name, with whose option each is."""
    owners = [(f"-b {item.label}", item.options) for item in plan.backends]
    owners += [(f"the loader {name}", options) for name, options in plan.loader_options.items()]
    owners += [(f"the data loader {plan.data.loader.name}", plan.data.loader.options)]
    for owner, options in owners:
        for field in fields_of(options):
            if _IS_PATH.search(field.metavar):
                yield from ((f"{owner}: {field.name}", path) for path in _texts(getattr(options, field.name)))


def _of_reports(plan: Plan) -> Iterator[_Written]:
    """Yield the files and folders that options of reports and observers name: these write."""
    for name, options in (*plan.report_options.items(), *plan.observer_options.items()):
        for field in fields_of(options):
            if _IS_PATH.search(field.metavar):
                option = (field.aliases or (f"--{name}-{field.name}".replace("_", "-"),))[0]
                shared = "DIR" in field.metavar
                paths = (path for path in _texts(getattr(options, field.name)) if path != "-")  # standard output
                yield from (_Written(option, path, shared) for path in paths)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, tuple):
        yield from (item for item in value if isinstance(item, str) and item)


def _same(path: str, other: str) -> bool:
    """Return whether two spellings lead to one file, by links, too."""
    first, second = located(path), located(other)
    with suppress(OSError, RuntimeError):  # a circle of links
        if first.resolve() == second.resolve():
            return True
    with suppress(OSError, ValueError):
        return first.samefile(second)
    return False
