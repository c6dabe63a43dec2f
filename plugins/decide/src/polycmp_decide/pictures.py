"""The data loader `pictures`: the pictures in a folder, or of a data set, as inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polycmp.errors import DataError, UsageError
from polycmp_decide.sources import Pictures, open_pictures

if TYPE_CHECKING:
    from polycmp.tensors import Feed, TensorEntry, TensorMetadata
    from polycmp_decide.plugin import PictureOptions

_CHANNELS = (1, 3)


def make_pictures(options: PictureOptions) -> Callable[[TensorMetadata], Iterator[Feed]]:
    """Return the data loader; the last batch of a model with a fixed one is filled up with its last picture.

    Raises:
        UsageError: No folder was given.
    """
    if not options.folder:
        raise UsageError("which pictures?", whose="--data-loader pictures", hint="--data DIR")

    def feeds(inputs: TensorMetadata) -> Iterator[Feed]:
        if len(inputs) != 1:
            raise DataError(
                f"the model has {len(inputs)} inputs, and pictures are for one",
                hint="give all inputs: --load-inputs FILE, or --data-loader-script FILE.py",
            )
        [(name, entry)] = inputs.items()
        form = _Form(name, entry, options)
        pictures = open_pictures(options.folder)
        names = pictures.names
        for start in range(0, len(names), form.batch):
            batch = [form.pixels(pictures, item) for item in names[start : start + form.batch]]
            yield {name: np.stack([*batch, *[batch[-1]] * (form.batch - len(batch))])}

    return feeds


class _Form:
    """The size, layout and type that an input has.

    Args:
        name: Name of the input.
        entry: Its type and shape.
        options: The data loader's options.
    """

    def __init__(self, name: str, entry: TensorEntry, options: PictureOptions) -> None:
        self._options = options
        shape = tuple(dim if isinstance(dim, int) and dim > 0 else 0 for dim in entry.shape or ())
        if len(shape) != 4 or (shape[1] not in _CHANNELS and shape[3] not in _CHANNELS):
            raise DataError(
                f"{name!r} of shape {list(entry.shape or ())} takes no pictures",
                why="pictures have four dimensions, of which the second or the last is 1 or 3 channels",
                hint="make the inputs yourself: --data-loader-script FILE.py",
            )
        self._first = shape[1] in _CHANNELS
        self.batch = shape[0] or 1
        self._channels = shape[1] if self._first else shape[3]
        height, width = shape[2:] if self._first else shape[1:3]
        if not (height and width):
            raise DataError(
                f"the size of {name!r} is open: {list(entry.shape or ())}",
                hint=f"--input-shapes {name}:[1,{f'{self._channels},224,224' if self._first else '224,224,3'}]",
            )
        self._size = (width, height)
        self._dtype = entry.dtype or np.dtype(np.float32)
        self._mean = self._per_channel(options.mean, 0.0, "--pictures-mean")
        self._std = self._per_channel(options.std, 1.0, "--pictures-std")

    def _per_channel(self, values: Sequence[float], default: float, option: str) -> npt.NDArray[np.float32]:
        if len(values) not in {0, 1, self._channels} or (option.endswith("std") and 0 in values):
            raise UsageError(f"{list(values)} for {self._channels} channels", whose=option, hint="one, or one for each")
        return np.array(values or [default], np.float32)

    def pixels(self, pictures: Pictures, name: str) -> npt.NDArray[Any]:
        """Return a picture as an array without the dimension of the batch."""
        with pictures.open(name) as file:
            image = file.convert("L" if self._channels == 1 else "RGB")
        from PIL import Image, ImageOps

        if self._options.crop:
            image = ImageOps.fit(image, self._size, Image.Resampling.BILINEAR)
        elif image.size != self._size:
            image = image.resize(self._size, Image.Resampling.BILINEAR)
        values = np.asarray(image, np.float32).reshape(image.height, image.width, -1)
        values = values[..., ::-1] if self._options.bgr else values
        if np.dtype(self._dtype).kind != "u":  # whole numbers are what the file holds
            values = (values / np.float32(self._options.scale) - self._mean) / self._std
        values = values.transpose(2, 0, 1) if self._first else values
        return np.ascontiguousarray(values).astype(self._dtype)
