"""Click's view of the option table: the words it is given, its parameters, and a help text in sections.

Click knows neither options with any number of values nor the order among different options, and people need both:
`--input-shapes a:[1] b:[2]` and `--trt --onnxrt`. Each use of such a flag becomes one word, its values joined by a
character that no keyboard has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polycmp.command.option_beginnings import complete_option, flags_of
from polycmp.errors import FileError, PluginError, UsageError, describe_exception, did_you_mean
from polycmp.options import FlagTable, Key, Target, option_fields
from polycmp.options.values import is_flag, spell
from polycmp.plugins import Registry

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


JOINT = "\x1f"
#: A flag for several values that none follows, which is not the same as one that is empty.
NOTHING = JOINT
#: Key of the context for the plugin whose options help is to show; "all" for those of all plugins.
TOPIC = "polycmp.help"
#: Key of the context for the words that were typed after `polycmp`.
TYPED = "polycmp.typed"

#: Similarity to a known flag from which an unknown one is taken for a typing mistake.
_SLIP = 0.8

#: Flags outside the table whose value follows them as a word of its own.
TAKES_A_WORD = frozenset({"-b", "--backend", "-o", "--output"})


def registry_of(ctx: click.Context) -> Registry:
    """Return the plugins that a command line works with, looked up when they are first needed.

    A program that starts the command line may hand them in: `cli.main(…, obj=registry)`.
    """
    return Registry.kept_in(ctx.find_root())


def take_topic(ctx: click.Context, words: Sequence[str]) -> list[str]:
    """Return the words without the name after `--help`, which the context keeps for the help text."""
    at = next((index for index, word in enumerate(words[:-1]) if word in {"-h", "--help"}), None)
    if at is None or is_flag(words[at + 1]):
        return list(words)
    ctx.meta[TOPIC] = words[at + 1]
    return [*words[: at + 1], *words[at + 2 :]]


def rewrite(words: Sequence[str], ctx: click.Context, table: FlagTable, registry: Registry) -> list[str]:
    """Return the words as click understands them.

    Raises:
        UsageError: Several plugins claim a flag, or it is unknown.
        PluginError: A flag of a backend that is known but not installed.
    """
    # For a short option click first makes an error with names that are like it among all the long ones.
    options = (param.opts for param in ctx.command.params if isinstance(param, click.Option))
    long_names = {option: names[-1] for names in options for option in names}
    result: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word == "--" and queue:
            return [*result, word, *queue]
        flag, equals, _ = word.partition("=")
        if flag in table.backends and (not equals or table.backends[flag].endswith("=")):
            result += ["--backend", _instance(table.backends[flag], word, queue)]
        elif flag in table.by_flag and not equals:
            result += _use(table.by_flag[flag], flag, queue)
        else:
            if (
                flag not in long_names and flag not in table.by_flag
            ):  # what is in the table comes here with `=` and a value
                meant = _meant(word, ctx, table)
                if meant:
                    queue.insert(0, meant)
                    continue
                _refuse(flag, ctx, table, words)
            result.append(long_names.get(word, word))
            if word in TAKES_A_WORD and queue:
                result.append(queue.pop(0))
    return _with_model(result, table, registry)


def _meant(word: str, ctx: click.Context, table: FlagTable) -> str:
    """Return the word that an unknown option stands for; empty where it stands for none.

    Raises:
        UsageError: It may stand for several.
        PluginError: It belongs to a plugin that is not there.
    """
    flag, equals, value = word.partition("=")
    options = flags_of(ctx, table)
    if not is_flag(flag) or flag in table.refused or any(flag in flags for flags, _ in options):
        return ""
    if flag.startswith("--"):
        _refuse_elsewhere(flag, ctx, registry_of(ctx))
    full = complete_option(flag, options, ctx)
    return f"{full}{equals}{value}" if full else ""


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


def _instance(beginning: str, word: str, queue: list[str]) -> str:
    """Return the instance of a backend's flag, and take its value off the queue where there is one."""
    if not beginning.endswith("="):
        return beginning
    flag, equals, value = word.partition("=")
    if not equals and (not queue or is_flag(queue[0])):
        raise UsageError(f"{flag} needs a value", hint=f"{flag} VALUE, which is -b {beginning}VALUE")
    return beginning + spell(value if equals else queue.pop(0), inline=True)


def _belongs(target: Target, word: str, *, first: bool) -> bool:
    if is_flag(word):
        return False
    if first:
        return True
    try:
        target.field.convert([[word]])
    except UsageError:
        # A word that cannot be a further value is an argument: `--rtol 1e-3 model.onnx`.
        return Path(word).suffix == "" or not Path(word).exists()
    return True


def _refuse(flag: str, ctx: click.Context, table: FlagTable, words: Sequence[str]) -> None:
    """Raise for a flag of plugins that are not there, or of several; return for one that click knows or explains.

    Raises:
        UsageError: It is unknown, or several plugins claim it.
        PluginError: The plugin that brings the flag is not there; the error names its package, or the backend to use.
    """
    if not flag.startswith("--"):
        return
    if flag in table.refused:
        owners = " and ".join(dict.fromkeys(table.refused[flag]))
        raise UsageError(
            f"{flag} is claimed by {owners}, so neither has it",
            hint="use the long form --NAME-FIELD: polycmp run --help",
        )
    options = [param for param in ctx.command.get_params(ctx) if isinstance(param, click.Option)]
    if flag in (flags := {name for param in options for name in (*param.opts, *param.secondary_opts)}):
        return
    registry = registry_of(ctx)
    _refuse_elsewhere(flag, ctx, registry)
    for before, word in pairwise(words):
        if before in {"-b", "--backend"}:
            registry.find_runner(word.partition(":")[0])
    from difflib import get_close_matches  # not needed but for slips

    from polycmp.plugins.known import known_names

    installed = {item.name for item in registry.contributions if item.kind == "runner"}
    missing = sorted(known_names().backends.keys() - installed)
    if missing and not get_close_matches(flag, flags, n=1, cutoff=_SLIP):
        raise UsageError(
            f"there is no option {flag}",
            why=f"options come with backends, and these are not available here: {', '.join(missing)}",
            hint="polycmp plugins list, and pip install polycmp-NAME for the backend that you miss",
        )


def _refuse_elsewhere(flag: str, ctx: click.Context, registry: Registry) -> None:
    """Raise for a flag of a backend in a command that starts none, and of a plugin that is not there.

    Raises:
        UsageError: A backend that is there has the flag.
        PluginError: A plugin that is not there brings the flag; the error names its package.
    """
    from polycmp.plugins.known import known_names

    for item in registry.contributions:
        if item.kind == "runner" and any(flag in field.aliases for field in option_fields(item.spec.options)):
            raise UsageError(
                f"{ctx.command_path} has no option {flag}",
                why=f"it is an option of the backend {item.name!r}, and this command starts none",
                hint="polycmp run --help",
            )
    if flag in known_names().options:
        raise PluginError(f"the package that brings {flag} is not installed", hint=known_names().options[flag])
    name = flag.removeprefix("--").replace("-", "_")
    if name in known_names().backends or name in known_names().names:
        registry.find_runner(name)
    installed = {item.name for item in registry.contributions if item.kind in {"runner", "data_loader"}}
    loaders = known_names().brought["data_loader"].items()
    owners = [("backend", *item) for item in known_names().backends.items()]
    owners += [("data loader", loader, command) for loader, (_, command) in loaders]
    for what, owner, command in owners:
        if name.startswith(f"{owner}_") and owner not in installed:
            raise PluginError(f"{flag} is an option of the {what} {owner!r}, which is not installed", hint=command)


def _with_model(words: list[str], table: FlagTable, registry: Registry) -> list[str]:
    """Give a model back that was taken for the last value of an option, if there is no other."""
    if any(not word.startswith("-") and words[index - 1] not in TAKES_A_WORD for index, word in enumerate(words)):
        return words
    for index, word in enumerate(words):
        head, joint, last = word.rpartition(JOINT)
        target = table.by_flag.get(word.partition("=")[0])
        is_text = target is not None and target.field.item is str and target.field.parse is None
        if (
            joint
            and is_text
            and Path(last).exists()
            and any(item.spec.reads(last) for item in registry.loaders.values())
        ):
            return [*words[:index], head, *words[index + 1 :], last]
    return words


def _with_files(words: Iterable[str]) -> list[str]:
    """Return the words, with the lines of FILE in place of `@FILE` where there is such a file.

    Raises:
        FileError: It cannot be read.
    """
    words_read: list[str] = []
    for word in words:
        path = Path(word[1:])
        if not word.startswith("@") or not path.is_file():
            words_read.append(word)
            continue
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeError) as error:
            raise FileError("cannot be read", whose=str(path), why=describe_exception(error)) from error
        words_read += [line.strip() for line in lines if line.strip()]
    return words_read


class TableOption(click.Option):
    """An option of the table; its value stays text until the whole table is converted."""

    def __init__(self, target: Target) -> None:
        name = "__".join(target.key).replace("-", "_")
        names = list(target.flags)
        if target.negative:
            names[0] = f"{names[0]}/{target.negative}"
        switch: dict[str, Any] = {"is_flag": True, "default": None} if target.field.kind == "flag" else {}
        plain: dict[str, Any] = {"multiple": True, "type": str, "metavar": target.field.metavar}
        super().__init__([name, *names], help=_help(target), hidden=target.field.hidden, **(switch or plain))
        self.target = target

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the row of the help; the flag that turns a switch off is shown only where it is on by default."""
        record = super().get_help_record(ctx)
        if record is None or self.target.field.default:
            return record
        return record[0].partition(" / ")[0], record[1]

    def converted(self, value: Any) -> Any:
        """Return the option's value from what click read, the words of each use.

        Raises:
            UsageError: A word cannot be its value.
        """
        if self.target.field.kind == "flag":
            return self.target.convert([["true" if value else "false"]])
        if self.target.field.several:
            uses = [[] if text == NOTHING else text.split(JOINT) for text in value]
            is_text = self.target.field.item is str and self.target.field.parse is None
            return self.target.convert([_with_files(words) for words in uses] if is_text else uses)
        return self.target.convert([[text] for text in value])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the allowed values, or files where a path is wanted."""
        from click.shell_completion import CompletionItem

        field = self.target.field
        named = {"compare": "compare_funcs", "data_loader": "data_loaders"}.get(field.name)
        choices = getattr(registry_of(ctx), named) if named and self.target.key.kind == "core" else field.choices
        if choices:
            return [CompletionItem(str(item)) for item in choices if str(item).startswith(incomplete)]
        kind = "dir" if field.metavar.strip("[]") == "DIR" else "file"
        return [CompletionItem(incomplete, type=kind)]


class BackendOption(click.Option):
    """`-b SPEC`: completes the backend's name, then its options."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the backends, or after a colon or comma the keys of the one that is named."""
        from click.shell_completion import CompletionItem

        backends = registry_of(ctx).runners
        name, colon, rest = incomplete.partition(":")
        if not colon:
            return [CompletionItem(item) for item in backends if item.startswith(name)]
        if name not in backends:
            return []
        head, comma, key = rest.rpartition(",")
        fields = option_fields(backends[name].spec.options)
        keys = [f"{item.name}=" if item.kind != "flag" else item.name for item in fields]
        return [
            CompletionItem(f"{name}:{head}{comma}{item}")
            for item in [*keys, "name=", "model=", "python=", "version="]
            if item.startswith(key)
        ]


def _help(target: Target) -> str:
    field = target.field
    default = field.default
    if field.kind == "flag" or default in (None, "", (), 0, 0.0) or default == {}:
        return field.help
    if isinstance(default, dict):
        default = default.get("", default)
    shown = " ".join(map(str, default)) if isinstance(default, tuple) else default
    return f"{field.help} [default: {shown}]"


def table_options(table: FlagTable) -> list[click.Parameter]:
    """Return click's parameters for all options of the table."""
    return [TableOption(target) for target in table.targets.values()]


def convert_words(params: Iterable[click.Parameter], read: Mapping[str, Any]) -> dict[Key, Any]:
    """Return the values of the table's options that were given, from what click read by parameter.

    Raises:
        UsageError: A word cannot be the value of its option.
    """
    options = [param for param in params if isinstance(param, TableOption)]
    return {
        param.target.key: param.converted(read[param.name])
        for param in options
        if param.name is not None and read.get(param.name) not in (None, ())
    }


def write_sections(
    formatter: click.HelpFormatter, ctx: click.Context, params: Sequence[click.Parameter], table: FlagTable
) -> None:
    """Write the options under the headings of the table; of those that are folded only what was asked for.

    Raises:
        PolycmpError: The plugin asked for has no options here, or is not there.
    """
    sections: dict[str, list[tuple[str, str]]] = {}
    for param in params:
        record = param.get_help_record(ctx)
        if record is not None:
            heading = param.target.section if isinstance(param, TableOption) else "Options"
            sections.setdefault(heading, []).append(record)
    for flag, name in table.backends.items():
        heading, value = f"Backend {name.partition(':')[0]}", name.endswith("=")
        shown = (f"{flag} VALUE", f"{name}VALUE") if value else (flag, name)
        sections.setdefault(heading, []).insert(0, (shown[0], f"{table.sections[heading]}; the same as -b {shown[1]}."))
    topic = ctx.meta.get(TOPIC, "")
    if topic in ("", "all"):
        names: dict[str, list[str]] = {}
        for heading in [] if topic else [item for item in table.folded if sections.pop(item, None)]:
            kind, _, name = heading.rpartition(" ")
            names.setdefault(kind, []).append(name)
        title = f"More options, from plugins: see {ctx.command_path} --help NAME, or --help all"
        sections[title] = [(kind, ", ".join(values)) for kind, values in names.items()]
    else:
        sections = {heading: rows for heading, rows in sections.items() if heading.endswith(f" {topic}")}
    if not sections:
        _refuse_elsewhere(f"--{topic}", ctx, registry_of(ctx))
        names_known = [heading.rpartition(" ")[2] for heading in table.sections]
        why = "it has none" if topic in names_known else did_you_mean(topic, names_known)
        raise UsageError(f"{ctx.command_path} has no options of {topic!r}", why=why, hint=f"{ctx.command_path} --help")
    for heading, records in sections.items():
        if records:
            with formatter.section(heading):
                formatter.write_dl(records)
