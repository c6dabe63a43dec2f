"""`polycmp data concat` and `polycmp data merge`: several files of inputs or outputs into one."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from polycmp.builtin.data.common import data_command, open_saved, output_option, refuse_own_folder
from polycmp.sentences import counted
from polycmp.terminal import echo, visible

if TYPE_CHECKING:
    from polycmp.command import BackendCommand, Invocation
    from polycmp.plugins import Registry
    from polycmp.results.files import SavedInputs, SavedRun

    Saved = SavedInputs | list[SavedRun]


def _concat(call: Invocation) -> int:
    paths, output = call.params["files"], call.params["output"]
    call.begin()
    refuse_own_folder(output, paths)
    saved = [(path, open_saved(path, call.registry)) for path in paths]
    runs = [(path, item) for path, item in saved if isinstance(item, list)]
    if not runs:
        count = _concat_inputs(call, [(path, item) for path, item in saved if not isinstance(item, list)], output)
        echo(visible(f"wrote {output}: {counted(count, 'iteration')} of inputs"))
        return 0
    if len(runs) < len(saved):
        from polycmp.errors import UsageError

        inputs = next(path for path, item in saved if not isinstance(item, list))
        raise UsageError(
            f"{runs[0][0]} holds outputs and {inputs} inputs",
            why="a file holds one or the other",
            hint="polycmp data merge turns both into inputs",
        )
    counts = _concat_outputs(call, runs, output)
    told = ", ".join(f"{count} of {label}" for label, count in counts.items())
    echo(visible(f"wrote {output}: outputs, {told}"))
    return 0


def _concat_inputs(call: Invocation, saved: Iterable[tuple[str, SavedInputs]], output: str) -> int:
    from polycmp.results.files import InputsWriter

    with InputsWriter(output, call.registry) as writer:
        check = _NameWarnings(call)
        count = 0
        for path, feeds in saved:
            for feed in feeds:
                check(path, "", feed)
                writer.add(feed)
                count += 1
    return count


def _concat_outputs(call: Invocation, saved: Iterable[tuple[str, list[SavedRun]]], output: str) -> dict[str, int]:
    from polycmp.results.files import OutputsWriter

    with OutputsWriter(output, call.registry) as writer:
        check = _NameWarnings(call)
        for path, runs in saved:
            for run in runs:
                for iteration in run.iterations:
                    check(path, run.label, iteration)
                    writer.add(run.label, iteration, iteration.runtime)
    return dict(writer.added)


class _NameWarnings:
    """Warns, once a file, where tensors are called otherwise than in earlier files.

    Args:
        call: Says it.
    """

    def __init__(self, call: Invocation) -> None:
        self._call = call
        self._expected: dict[str, tuple[str, ...]] = {}
        self._warned: set[str] = set()

    def __call__(self, path: str, label: str, tensors: Mapping[str, Any]) -> None:
        names = tuple(sorted(tensors))
        expected = self._expected.setdefault(label, names)
        if names != expected and path not in self._warned:
            self._warned.add(path)
            self._call.warn([f"{path} holds {', '.join(names)}, and what came before {', '.join(expected)}"])


def _merge(call: Invocation) -> int:
    from polycmp.results.files import InputsWriter

    paths, output = call.params["files"], call.params["output"]
    call.begin()
    refuse_own_folder(output, paths)
    streams = [(path, _feeds(path, call.registry)) for path in paths]
    count, tensors = 0, 0
    with ExitStack() as stack:
        for feed in _merged(call, streams):
            if not count:
                writer = stack.enter_context(InputsWriter(output, call.registry))
            writer.add(feed)
            count, tensors = count + 1, len(feed)
    echo(visible(f"wrote {output}: {counted(count, 'iteration')} of {tensors} inputs"))
    return 0


def _to_input(call: Invocation) -> int:
    status = _merge(call)
    logging.getLogger("polycmp").info("data to-input of earlier versions: data merge")
    return status


def _feeds(path: str, registry: Registry) -> Iterator[Mapping[str, Any]]:
    """Return the iterations of a file of inputs, or of outputs: those of all its runs at once."""
    saved = open_saved(path, registry)
    if not isinstance(saved, list):
        return iter(saved)
    return _of_all_runs(saved)


def _of_all_runs(runs: list[SavedRun]) -> Iterator[dict[str, Any]]:
    for together in zip(*(run.iterations for run in runs), strict=False):
        yield {name: array for iteration in together for name, array in iteration.items()}


def _merged(call: Invocation, streams: list[tuple[str, Iterator[Mapping[str, Any]]]]) -> Iterator[dict[str, Any]]:
    """Yield one feed an iteration with the tensors of all files; one that holds a single iteration is repeated.

    Raises:
        FileError: A file holds no iteration.
    """
    from polycmp.errors import FileError

    first: dict[str, Mapping[str, Any]] = {}
    single: list[str] = []
    index = 0
    while True:
        parts = [(path, next(stream, None)) for path, stream in streams]
        over = [path for path, part in parts if part is None]
        if index == 0 and over:
            raise FileError("holds no iterations", whose=over[0], hint=f"polycmp inspect data {over[0]}")
        ended = [path for path in over if index > 1]
        if len(over) == len(parts) or ended:
            if ended and len(over) + len(single) < len(parts):
                call.warn([f"{ended[0]} ends after {index} iterations, so the others are not read further"])
            return
        if over and index == 1:
            call.warn([f"{', '.join(over)}: the only iteration is repeated"])
            single = over
            streams[:] = [(path, _again(first[path]) if path in over else stream) for path, stream in streams]
            parts = [(path, first[path] if part is None else part) for path, part in parts]
        yield _together(call, [(path, part or {}) for path, part in parts], tell=index == 0)
        if index == 0:
            first = {path: part or {} for path, part in parts}
        index += 1


def _again(feed: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    while True:
        yield feed


def _together(call: Invocation, parts: list[tuple[str, Mapping[str, Any]]], tell: bool) -> dict[str, Any]:
    feed: dict[str, Any] = {}
    for path, part in parts:
        twice = [name for name in part if name in feed]
        if twice and tell:
            hint = "polycmp data concat appends iterations instead"
            call.warn(
                [f"{', '.join(twice)} of {path} replace{'s' if len(twice) == 1 else ''} what came before; {hint}"]
            )
        feed.update(part)
    return feed


_FILES = click.Argument(["files"], nargs=-1, required=True, metavar="FILE...")
_OUTPUT = "Where to write: .json, .npz, .safetensors, or a folder."
concat_command: BackendCommand = data_command(
    "concat",
    _concat,
    "Concatenate the iterations of several files or folders. All must hold inputs, or all outputs.",
    params=[_FILES, output_option(_OUTPUT)],
    shown=["polycmp data concat first.json second.npz -o all.safetensors"],
)
_MERGING: Mapping[str, Any] = {
    "text": "Merge the tensors of several files or folders into one set of inputs, iteration by iteration.",
    "params": [_FILES, output_option(_OUTPUT)],
    "shown": ["polycmp data merge inputs.json outputs.npz -o together.json"],
}
merge_command: BackendCommand = data_command("merge", _merge, **_MERGING)
to_input_command: BackendCommand = data_command("to-input", _to_input, **_MERGING)  # its former name
