"""The commands `inspect tactics`, `inspect diff-tactics` and `inspect capability`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from polycmp.command import examples, with_messages
from polycmp.errors import FileError, UsageError
from polycmp.files import atomic_write
from polycmp.terminal import echo, visible
from polycmp_trt.build.tactics import Algorithm, TacticReplayData

__all__ = ["capability", "diff_tactics", "suspects", "tactics"]


@with_messages
@click.command(
    "tactics",
    help="Show the algorithm of each layer in a tactic replay file." + examples("polycmp inspect tactics replay.json"),
)
@click.argument("tactic_replay", metavar="FILE")
def tactics(tactic_replay: str) -> None:
    """Print the file as text; TensorRT need not be installed.

    Raises:
        FileError: It cannot be read, or is no tactic replay file.
    """
    replay = TacticReplayData.load(tactic_replay)
    echo(f"{len(replay)} layers in {tactic_replay}")
    if replay:
        echo(str(replay))


@with_messages
@click.command(
    "diff-tactics",
    help="Show the tactics that only bad engines use: those in the replay files of a folder `bad` and never in those "
    "of `good`, as `debug build` sorts them." + examples("polycmp inspect diff-tactics --dir replays"),
)
@click.option("--dir", "folder", metavar="DIR", help="Folder with the folders good and bad.")
@click.option("--good", metavar="PATH", help="File or folder of good replays; by default DIR/good.")
@click.option("--bad", metavar="PATH", help="File or folder of bad replays; by default DIR/bad.")
def diff_tactics(folder: str | None, good: str | None, bad: str | None) -> None:
    """Print the suspects; exit status 0 whether or not there are any.

    A folder `good` or `bad` that `debug build` had no reason to make counts as empty.

    Raises:
        UsageError: It is not said where the files are.
        FileError: A folder does not exist.
    """
    if folder and not Path(folder).is_dir():
        raise FileError(f"no such folder: {folder}", hint="polycmp debug build … --artifacts-dir DIR makes one")
    innocent = list(_replays("good", good, folder))
    guilty = list(_replays("bad", bad, folder))
    echo(f"read {len(innocent)} good and {len(guilty)} bad tactic replays")
    suspicious = suspects(innocent, guilty)
    if not suspicious:
        echo("no tactic is used by bad engines only; more replays may show some")
        return
    echo(f"used by bad engines only, in {len(suspicious)} layers:")
    for layer, algorithms in suspicious.items():
        echo(f"Layer: {visible(str(layer))}")
        for algorithm in algorithms:
            echo(f"    Algorithm: {visible(str(algorithm))}")


def _replays(name: str, typed_path: str | None, folder: str | None) -> Iterator[TacticReplayData]:
    """Yield the replays in a file, or in all files below a folder; files that hold none are passed over."""
    if not typed_path and not folder:
        raise UsageError(f"where are the {name} replay files?", hint="--dir DIR, or --good PATH --bad PATH")
    path = Path(typed_path or f"{folder}/{name}")
    if typed_path and not path.exists():
        raise FileError(f"no such file or folder: {path}", hint=f"ls {path.parent}")
    if path.is_file():
        yield TacticReplayData.load(path)
        return
    for file in sorted(item for item in path.rglob("*") if item.is_file()):
        replay = _replay_or_none(file)
        if replay is None:
            echo(f"{file} is no tactic replay; left out", err=True)
        else:
            yield replay


def _replay_or_none(file: Path) -> TacticReplayData | None:
    try:
        return TacticReplayData.load(file)
    except FileError:
        return None


def suspects(good: list[TacticReplayData], bad: list[TacticReplayData]) -> dict[str, list[Algorithm]]:
    """Return, for each layer, the algorithms that bad replays use and no good one does.

    Args:
        good: Replays of engines that passed.
        bad: Replays of engines that failed.
    """
    algorithms: dict[str, list[Algorithm]] = {}
    innocent = {(layer, algorithm) for replay in good for layer, algorithm in replay.items()}
    for replay in bad:
        for layer, algorithm in replay.items():
            if (layer, algorithm) not in innocent and algorithm not in algorithms.get(layer, []):
                algorithms.setdefault(layer, []).append(algorithm)
    return algorithms


@with_messages
@click.command(
    "capability",
    help="Show which parts of an ONNX model TensorRT can parse, and why it cannot parse the rest."
    + examples(
        "polycmp inspect capability model.onnx", "polycmp inspect capability model.onnx --with-partitioning -o parts"
    ),
)
@click.argument("model", metavar="MODEL")
@click.option("--with-partitioning", is_flag=True, help="Split the model and write each part to a file.")
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    help="Folder for the table and the parts; by default polycmp_capability, and none if TensorRT parses the whole.",
)
@click.option("--plugins", multiple=True, metavar="FILE.so", help="Plugin libraries to load first.")
def capability(model: str, with_partitioning: bool, folder: str | None, plugins: tuple[str, ...]) -> None:
    """Print a table of what TensorRT cannot parse; exit status 0 whether or not there is any.

    Raises:
        ModelError: The file is missing or no ONNX model.
        BackendError: TensorRT cannot start.
    """
    from polycmp_trt.run.runtime import load_plugins
    from polycmp_trt.show import parser_support

    load_plugins(list(plugins))
    target = folder or "polycmp_capability"
    result = parser_support.partition_model(model, target) if with_partitioning else parser_support.check_model(model)
    text = parser_support.format_problems(result)
    echo(text)
    if result.supported and not folder:
        return
    for part in result.parts:
        echo(part.path)
    results = Path(target, parser_support.RESULTS)
    with atomic_write(results) as file:
        file.write(f"{text}\n".encode())
    echo(f"written to {results}", err=True)
