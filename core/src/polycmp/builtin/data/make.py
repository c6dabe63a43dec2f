"""`polycmp data from-images` and `polycmp data from-numpy`: inputs files from what people have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from polycmp.builtin.data.common import data_command, output_option
from polycmp.files import natural_order
from polycmp.sentences import counted
from polycmp.spec import opt
from polycmp.terminal import echo, visible

if TYPE_CHECKING:
    from polycmp.command import BackendCommand, Invocation

_IMAGES = {".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm"}


@dataclass(frozen=True)
class ImageSection:
    """Images."""

    name: str = opt("", help="Name of the model's input.", metavar="INPUT")
    size: str = opt(
        "", help="Resize images to this, for example 224x224; by default they keep their size.", metavar="HxW"
    )
    crop: bool = opt(False, help="Resize the shorter side and crop the centre, instead of changing the proportions.")
    layout: str = opt("nchw", help="Order of the dimensions.", choices=("nchw", "nhwc", "chw", "hwc"))
    gray: bool = opt(False, help="Use one channel instead of red, green and blue.")
    bgr: bool = opt(False, help="Order the channels as blue, green, red.")
    scale: float = opt(255.0, help="First divide by this; 1 keeps 0 to 255.", metavar="X")
    mean: tuple[float, ...] = opt((), help="Then subtract this: one number, or one per channel.", metavar="X")
    std: tuple[float, ...] = opt((), help="Then divide by this: one number, or one per channel.", metavar="X")
    dtype: str = opt("float32", help="Element type.", metavar="TYPE")
    batch: int = opt(1, help="Images per iteration.", metavar="N")


def _from_images(call: Invocation) -> int:
    from polycmp.errors import UsageError

    section = call.section(ImageSection)
    call.begin()
    if not section.name:
        raise UsageError("which input are the images for?", hint="--name INPUT; polycmp inspect model MODEL shows them")
    if section.batch > 1 and section.layout in {"chw", "hwc"}:
        raise UsageError("--batch needs a layout with N", hint="--layout nchw or --layout nhwc")
    if section.batch < 1:
        raise UsageError("--batch is at least 1")
    files = list(_files(call.params["paths"], _IMAGES, "images"))
    size = _size(section.size)
    groups = (files[start : start + section.batch] for start in range(0, len(files), section.batch))
    return _write(call, ({section.name: _batch(group, section, size)} for group in groups))


def _batch(files: list[Path], section: ImageSection, size: tuple[int, int] | None) -> Any:
    from polycmp.errors import DataError

    arrays = [_pixels(file, section, size) for file in files]
    if section.layout in {"chw", "hwc"}:
        return arrays[0]
    if len({array.shape for array in arrays}) > 1:
        other = next(file for file, array in zip(files, arrays, strict=True) if array.shape != arrays[0].shape)
        raise DataError(f"{files[0]} and {other} differ in size", hint="--size HxW makes them equal")
    return np.stack(arrays)


def _pixels(file: Path, section: ImageSection, size: tuple[int, int] | None) -> Any:
    """Return one image as an array of the layout without its N."""
    from polycmp.errors import FileError, describe_exception
    from polycmp.tensors import as_dtype

    image = _opened(file)
    try:
        image = image.convert("L" if section.gray else "RGB")
        if size is not None:
            image = _resized(image, size, section.crop)
    except OSError as error:
        raise FileError("cannot read this image", whose=str(file), why=describe_exception(error)) from error
    values = np.asarray(image, np.float32).reshape(image.height, image.width, -1)
    if section.bgr:
        values = values[..., ::-1]
    values = values / np.float32(section.scale)
    values = values - _per_channel(section.mean, values.shape[-1], "--mean", 0.0)
    values = values / _per_channel(section.std, values.shape[-1], "--std", 1.0)
    if section.layout.endswith("chw"):
        values = values.transpose(2, 0, 1)
    return np.ascontiguousarray(values).astype(as_dtype(section.dtype))


def _opened(file: Path) -> Any:
    from polycmp.errors import FileError, PluginError, describe_exception

    try:
        from PIL import Image
    except ImportError as error:
        raise PluginError(
            "reading images needs Pillow",
            whose="data",
            why=describe_exception(error),
            hint="pip install 'polycmp[images]'",
        ) from error
    try:
        return Image.open(file)
    except OSError as error:
        raise FileError("cannot read this image", whose=str(file), why=describe_exception(error)) from error


def _resized(image: Any, size: tuple[int, int], crop: bool) -> Any:
    from PIL import Image, ImageOps

    height, width = size
    if crop:
        return ImageOps.fit(image, (width, height), Image.Resampling.BILINEAR)
    return image.resize((width, height), Image.Resampling.BILINEAR)


def _size(text: str) -> tuple[int, int] | None:
    from polycmp.errors import UsageError

    if not text:
        return None
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise UsageError(f"{text!r} is not a size", whose="--size", hint="--size 224x224, height first")
    return int(parts[0]), int(parts[1])


def _per_channel(values: tuple[float, ...], channels: int, option: str, default: float) -> Any:
    from polycmp.errors import UsageError

    if len(values) not in {0, 1, channels}:
        raise UsageError(
            f"{len(values)} values for {channels} channels", whose=option, hint="give one, or one per channel"
        )
    if option == "--std" and 0 in values:
        raise UsageError("cannot divide by 0", whose=option)
    return np.array(values or [default], np.float32)


@dataclass(frozen=True)
class NumpySection:
    """Arrays."""

    name: str = opt("", help="Input that all .npy files belong to, one iteration per file.", metavar="INPUT")
    split: bool = opt(False, help="Split each file into iterations along its first axis.")


def _from_numpy(call: Invocation) -> int:
    section = call.section(NumpySection)
    call.begin()
    return _write(call, _feeds(call.params["paths"], section))


def _feeds(paths: Iterable[str], section: NumpySection) -> Iterator[dict[str, Any]]:
    """Yield feeds: of each folder the files in it, named as inputs; or the files themselves, in order."""
    for path in map(Path, paths):
        inner = sorted((item for item in path.iterdir() if item.is_dir()), key=_in_order) if path.is_dir() else []
        if inner:
            yield from _feeds(map(str, inner), section)
        elif section.name:
            for file in _files([str(path)], {".npy"}, "NumPy files"):
                yield from _iterations({section.name: _array(file)}, section)
        else:
            yield from _of_files(path, section)


def _of_files(path: Path, section: NumpySection) -> Iterator[dict[str, Any]]:
    feed: dict[str, Any] = {}
    for file in _files([str(path)], {".npy", ".npz"}, "NumPy files"):
        if file.suffix == ".npz":
            yield from _iterations(_array(file), section)
        else:
            feed[file.stem] = _array(file)
    if feed:
        yield from _iterations(feed, section)


def _iterations(feed: dict[str, Any], section: NumpySection) -> Iterator[dict[str, Any]]:
    from polycmp.errors import DataError

    if not section.split:
        yield feed
        return
    lengths = {name: len(array) if array.ndim else 0 for name, array in feed.items()}
    if len(set(lengths.values())) != 1:
        told = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise DataError(f"--split needs arrays of one length: {told}", hint="leave --split out")
    for index in range(next(iter(lengths.values()))):
        yield {name: array[index] for name, array in feed.items()}


def _array(file: Path) -> Any:
    """Return the array in a file, or the arrays by name of an archive; nothing that would run code is read."""
    from polycmp.errors import FileError, describe_exception

    try:
        loaded = np.load(file, allow_pickle=False)
        return dict(loaded) if file.suffix == ".npz" else loaded
    except (OSError, ValueError, EOFError) as error:
        raise FileError("cannot read this array", whose=str(file), why=describe_exception(error)) from error


def _files(paths: Iterable[str], suffixes: Iterable[str], what: str) -> Iterator[Path]:
    """Yield files, of folders those with one of the suffixes, in an order in which 10 comes after 9.

    Raises:
        FileError: There is no such file or folder, or nothing fitting in it.
    """
    from polycmp.errors import FileError

    for path in map(Path, paths):
        if not path.exists():
            raise FileError("no such file or folder", whose=str(path), hint=f"ls {path.parent}")
        files = [path]
        if path.is_dir():
            files = sorted((item for item in path.iterdir() if item.suffix.lower() in suffixes), key=_in_order)
        if not files:
            raise FileError(
                f"this folder holds no {what}", whose=str(path), why=f"known: {', '.join(sorted(suffixes))}"
            )
        yield from files


def _in_order(path: Path) -> list[tuple[int, str]]:
    return natural_order(path.name)


def _write(call: Invocation, feeds: Iterable[dict[str, Any]]) -> int:
    from polycmp.results.files import InputsWriter
    from polycmp.tensors import TensorMetadata

    output, count = call.params["output"], 0
    shown: Any = ""
    with InputsWriter(output, call.registry) as writer:
        for feed in feeds:
            writer.add(feed)
            shown = shown or TensorMetadata.from_feed_dict(feed)
            count += 1
    echo(visible(f"wrote {output}: {counted(count, 'iteration')} of {shown}"))
    return 0


_PATHS = click.Argument(["paths"], nargs=-1, required=True, metavar="PATH...")
_OUTPUT = "Where to write: .json, .npz, .safetensors, or a folder."
images_command: BackendCommand = data_command(
    "from-images",
    _from_images,
    "Make a file of inputs from images, or from folders of images.",
    [ImageSection],
    [_PATHS, output_option(_OUTPUT)],
    ["polycmp data from-images photos --name image --size 224x224 --crop -o photos.npz"],
)
numpy_command: BackendCommand = data_command(
    "from-numpy",
    _from_numpy,
    "Make a file of inputs from .npy and .npz files. In a folder, NAME.npy is the input NAME, and each folder "
    "inside is one iteration.",
    [NumpySection],
    [_PATHS, output_option(_OUTPUT)],
    ["polycmp data from-numpy arrays -o arrays.npz", "polycmp run model.onnx -b onnxrt --load-inputs arrays.npz"],
)
