"""Contributions of this package. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polycmp.spec import CommandSpec, DataLoaderSpec, ObserverSpec, hookimpl, opt, parse_above_zero, parse_count


@dataclass(frozen=True)
class PictureOptions:
    """Options of the data loader `pictures`."""

    folder: str = opt(
        "",
        help="Folder with pictures, in its folders, too; one picture; or hf:DIR, hf:NAME#SPLIT, a data set of Hugging "
        "Face's form.",
        metavar="PATH",
        alias="--data",
    )
    crop: bool = opt(False, help="Resize the shorter side and crop the centre, instead of changing the proportions.")
    bgr: bool = opt(False, help="Order the channels as blue, green, red.")
    scale: float = opt(255.0, help="First divide by this; 1 keeps 0 to 255.", metavar="X")
    mean: tuple[float, ...] = opt((), help="Then subtract this: one number, or one per channel.", metavar="X")
    std: tuple[float, ...] = opt((), help="Then divide by this: one number, or one per channel.", metavar="X")


@dataclass(frozen=True)
class FlipOptions:
    """Inputs that flip."""

    number: int = opt(
        0,
        help="Walk from the given inputs to ties of the reference's decision, and make N inputs near these.",
        alias="--flips",
        metavar="N",
        parse=parse_count,
    )
    within: float = opt(
        1e-3, help="How near, as a share of the inputs' range.", metavar="SHARE", parse=parse_above_zero
    )
    output: str = opt("", help="Output that decides, where several could be meant.", metavar="NAME")
    threshold: float | None = opt(
        None, help="What decides is whether a value is above this; by default which is the largest.", metavar="X"
    )


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute `decide`."""
    yield CommandSpec(
        ("decide",),
        "Say whether one side is worse than the other at its task, on labelled data.",
        "polycmp_decide.command:decide_command",
        purpose="compare",
    )


@hookimpl
def polycmp_data_loaders() -> Iterable[DataLoaderSpec]:
    """Contribute pictures in a folder, and inputs near ties."""
    yield DataLoaderSpec(
        "pictures",
        "The pictures in a folder, in the size and layout of the model's input",
        "polycmp_decide.pictures:make_pictures",
        PictureOptions,
    )
    yield DataLoaderSpec(
        "flip",
        "Inputs near ties of a decision, from those of any data loader",
        "polycmp_decide.flips:make_flips",
        FlipOptions,
        follows=True,
    )


@hookimpl
def polycmp_run_observers() -> Iterable[ObserverSpec]:
    """Contribute the shares of a new file and of a device in an error."""
    yield ObserverSpec("error_shares", "Whose error it is, in runs of three backends", "polycmp_decide.whose:split")
