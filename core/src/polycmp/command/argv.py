"""Command-line words before click sees them: several values behind one flag, backends as flags, bare flags.

Click knows neither options with any number of values nor the order among different options, and people need both:
`--input-shapes a:[1] b:[2]` and `--trt --onnxrt`. Each use of such a flag becomes one word, its values joined by a
character that nobody types.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polycmp.errors import PluginError, UsageError
from polycmp.plan.flags import FlagTable, Target
from polycmp.plugins import Registry
from polycmp.plugins.known import DATA_LOADERS, FLAGS_NOT_YET, INSTALL_COMMANDS, NOT_YET, OPTIONS_OF_REPORTS
from polycmp.values import is_flag

JOINT = "\x1f"
#: A flag for several values with none behind it, which is not the same as one that is empty.
NOTHING = JOINT

#: Flags outside the table whose value stands behind them as a word of its own.
TAKES_A_WORD = frozenset({"-b", "--backend", "-o", "--output"})


def rewrite(words: Sequence[str], table: FlagTable, registry: Registry) -> list[str]:
    """Return the words as click understands them.

    Raises:
        UsageError: A flag that several plugins claim.
        PluginError: A flag of a backend that is known but not installed.
    """
    result: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word == "--" and queue:
            return [*result, word, *queue]
        flag, equals, _ = word.partition("=")
        if flag in table.backends and not equals:
            result += ["-b", table.backends[flag]]
        elif flag in table.by_flag and not equals:
            result += _use(table.by_flag[flag], flag, queue)
        else:
            _refuse(flag, table, registry)
            result.append(word)
            if word in TAKES_A_WORD and queue:
                result.append(queue.pop(0))
    return _with_model(result, table, registry)


def _use(target: Target, flag: str, queue: list[str]) -> list[str]:
    """Take a flag's values off the queue."""
    field = target.field
    if field.kind == "flag":
        return [flag]
    if field.several:
        values: list[str] = []
        while queue and _belongs(target, queue[0], first=not values):
            values.append(queue.pop(0))
        return [f"{flag}={JOINT.join(values) if values else NOTHING}"]
    if field.bare is not None and (not queue or is_flag(queue[0])):
        return [f"{flag}={field.bare}"]
    if not queue:
        raise UsageError(f"{flag} needs a value: {field.metavar}")
    return [f"{flag}={queue.pop(0)}"]


def _belongs(target: Target, word: str, *, first: bool) -> bool:
    if is_flag(word):
        return False
    if first:
        return True
    try:
        target.field.convert([[word]])
    except UsageError:
        # Whatever cannot be a further value is an argument: `--rtol 1e-3 model.onnx`.
        return Path(word).suffix == "" or not Path(word).exists()
    return True


def _refuse(flag: str, table: FlagTable, registry: Registry) -> None:
    if not flag.startswith("--"):
        return
    if flag in table.refused:
        owners = " and ".join(dict.fromkeys(str(claim) for claim in table.refused[flag]))
        raise UsageError(
            f"{flag} is claimed by {owners}, so neither gets it",
            hint="use the long form --NAME-FIELD: polycmp run --help",
        )
    explain_missing(flag, registry)


def _with_model(words: list[str], table: FlagTable, registry: Registry) -> list[str]:
    """Give a model back that was taken for the last value of an option, if there is no other."""
    if any(
        not word.startswith("-") and words[index - 1] not in {"-b", "--backend"} for index, word in enumerate(words)
    ):
        return words
    suffixes = tuple(suffix for item in registry.loaders.values() for suffix in item.spec.suffixes)
    for index, word in enumerate(words):
        head, joint, last = word.rpartition(JOINT)
        target = table.by_flag.get(word.partition("=")[0])
        is_text = target is not None and target.field.item is str and target.field.parse is None
        if joint and is_text and last.lower().endswith(suffixes) and Path(last).exists():
            return [*words[:index], head, *words[index + 1 :], last]
    return words


def explain_missing(flag: str, registry: Registry) -> None:
    """Raise for a flag that belongs to a plugin which is not there; return for any other.

    Raises:
        PluginError: Which package brings the flag, or that none does yet.
    """
    name = flag.removeprefix("--").replace("-", "_")
    if flag in FLAGS_NOT_YET:
        backend, what = FLAGS_NOT_YET[flag]
        raise PluginError(f"{flag} {what}", hint=f"polycmp plugins new {backend} writes the package to begin with")
    report, command = OPTIONS_OF_REPORTS.get(flag, ("", ""))
    if report and report not in registry.reports:
        raise PluginError(f"{flag} is an option of the report {report!r}, which is not installed", hint=command)
    if name in NOT_YET or name in INSTALL_COMMANDS:
        registry.find_runner(name)
    installed = {item.name for item in registry.contributions if item.kind in {"runner", "data_loader"}}
    known = [("backend", backend, command) for backend, command in INSTALL_COMMANDS.items()]
    known += [("data loader", loader, command) for loader, (_, command) in DATA_LOADERS.items()]
    for what, owner, command in known:
        if name.startswith(f"{owner}_") and owner not in installed:
            raise PluginError(f"{flag} is an option of the {what} {owner!r}, which is not installed", hint=command)
