"""The data loader `sample`: pictures, speech and text for the inputs that these fit, random numbers for others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from polycmp.data import RandomOptions, make_random
from polycmp.data import remarks as random_remarks
from polycmp.errors import DataError
from polycmp.tensors import LabelledFeed, TensorMetadata
from polycmp_samples.fitting import Filling, fillings
from polycmp_samples.options import PICTURES, SampleOptions


def make_sample(options: SampleOptions) -> Callable[[TensorMetadata], Iterator[LabelledFeed]]:
    """Return a function of the inputs' metadata that yields feeds: one for each picture, or one.

    Raises:
        DataError: No sample fits any of the inputs.
    """

    def load(inputs: TensorMetadata) -> Iterator[LabelledFeed]:
        filling_of = fillings(inputs, options)
        if not any(filling.real for filling in filling_of.values()):
            raise DataError(
                "no image, speech or text sample fits an input of this model",
                whose="--data-loader sample",
                why=f"its inputs are {inputs}",
                hint="give inputs of your own with --load-inputs or --data-loader-script",
            )
        return _feeds(inputs, filling_of, options)

    return load


def _feeds(inputs: TensorMetadata, filling_of: Mapping[str, Filling], options: SampleOptions) -> Iterator[LabelledFeed]:
    shown = [filling for filling in filling_of.values() if filling.pictures]
    names, rows = (shown[0].pictures, max(filling.rows for filling in shown)) if shown else ((), 1)
    for iteration in range(options.iterations or len(names) or 1):
        drawn = next(make_random(RandomOptions(seed=1 + iteration))(inputs))
        feed = {name: filling_of[name].make(iteration) if name in filling_of else drawn[name] for name in inputs}
        if not names:
            yield LabelledFeed(feed, f"sample {iteration}", {"sample-iterations": iteration + 1})
            continue
        first = iteration % len(names)
        turned = [*names[first:], *names[:first]]
        yield LabelledFeed(feed, PICTURES[turned[0]], {"sample-pictures": turned[:rows], "sample-iterations": 1})


def remarks(options: SampleOptions, inputs: TensorMetadata) -> dict[str, str]:
    """Return in words what is fed to each input."""
    filling_of = fillings(inputs, options)
    others = random_remarks(RandomOptions(), inputs)
    return {
        name: filling_of[name].words if name in filling_of else others[name]
        for name in inputs
        if name in {*filling_of, *others}
    }
