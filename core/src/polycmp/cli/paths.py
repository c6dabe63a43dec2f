"""Paths of one command that must not be the same: what one option writes, and what another writes or reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import UsageError
from polycmp.files import located
from polycmp.options import option_fields
from polycmp.values import split_script

if TYPE_CHECKING:
    from polycmp.plan import Plan
    from polycmp.plan.build import Settings

#: Options of the core that write, whatever command they belong to.
_WRITTEN = {
    "save_inputs", "save_outputs", "save_input_blob", "report", "save_accuracy_results", "save_heatmaps",
    "save_error_metrics_plot", "gen_script", "write_config", "log_file", "save_repro", "keep_tap",
}  # fmt: skip
#: Those that write many files of their own names into a folder, which they may share.
_FOLDERS = {"save_heatmaps", "save_error_metrics_plot", "save_input_blob"}
#: Those whose path without a suffix is a folder that is theirs alone.
_OWN_FOLDERS = {"save_inputs", "save_outputs"}
_READ = {
    "load_inputs", "load_outputs", "data_loader_script", "compare_func_script", "postprocess_func_script", "config",
}  # fmt: skip
_IS_PATH = re.compile(r"\b(FILE|PATH|DIR)\b")

Named = tuple[str, str]  # an option or what else it is, and the path as it was typed


def refuse_collisions(settings: Settings, plan: Plan | None = None, others: Iterable[Named] = ()) -> None:
    """Refuse paths of which one would overwrite another, however they are spelled, before anything runs.

    Args:
        settings: The options.
        plan: The plan made of them: its models, and files that plugins' options name.
        others: Further files that are read.

    Raises:
        UsageError: Two options mean one file, and at least one of them writes it.
    """
    written: list[tuple[str, str, str]] = []
    read = [*others, *(_models(plan) if plan is not None else ())]
    for field, path in _core_paths(settings):
        option = "--" + field.replace("_", "-")
        if field in _READ:
            read.append((option, split_script(path, "")[0] if field.endswith("_script") else path))
        elif not (field == "gen_script" and path == "-"):
            written.append((option, path, field))
    of_plugins = list(_of_plugins(plan)) if plan is not None else []
    for index, (option, path, field) in enumerate(written):
        for other, another, other_field in written[:index]:
            if _same(path, another) and not {field, other_field} <= _FOLDERS:
                raise _collision(option, path, f"{other} writes", another)
        _refuse_overwriting(option, path, read, fills=field in _OWN_FOLDERS)
        for whose, another in of_plugins:
            if _same(path, another):
                raise _collision(option, path, f"{whose} names", another)
    for whose, path in of_plugins:
        if whose.rpartition(" ")[2].startswith("save"):
            _refuse_overwriting(whose, path, read)


def _refuse_overwriting(option: str, path: str, read: Iterable[Named], *, fills: bool = False) -> None:
    """Refuse a path that is read, too, or a folder to fill in which something lies that is read."""
    for other, another in read:
        if _same(path, another) or (fills and not Path(path).suffix and _same(path, str(Path(another).parent))):
            raise _collision(option, path, f"{other} reads", another)


def _collision(option: str, path: str, other: str, another: str) -> UsageError:
    return UsageError(
        f"{option} would overwrite what {other}: {another}",
        why="" if path == another else f"{path} leads there",
        hint="give each a path of its own",
    )


def _core_paths(settings: Settings) -> Iterator[Named]:
    for section in settings.core.values():
        for field in option_fields(type(section)):
            if field.name in _WRITTEN or field.name in _READ:
                yield from ((field.name, path) for path in _texts(getattr(section, field.name)))


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
        for field in option_fields(type(options)) if options is not None else ():
            if _IS_PATH.search(field.metavar):
                yield from ((f"{owner}: {field.name}", path) for path in _texts(getattr(options, field.name)))


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
