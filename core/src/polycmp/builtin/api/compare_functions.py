"""The built-in compare functions for Python programs: `CompareFunc.simple(atol=1e-3)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from polycmp.builtin.api.pictures import is_picture, make_pictures
from polycmp.builtin.functions import options as function_options
from polycmp.builtin.functions.indices import Indices
from polycmp.builtin.functions.norms import L2, CosineSimilarity, Psnr, Snr
from polycmp.builtin.functions.ulp import Ulp
from polycmp.compare import Simple, SimpleOptions
from polycmp.errors import InvalidValueError

T = TypeVar("T")
PerOutput = float | Mapping[str, float] | None


class CompareFunc:
    """Makes compare functions: `compare(candidate, reference, output=NAME) -> Verdict`.

    With the outputs of two iterations by name, instead of two arrays, they return a verdict by name.

    Values are one number for all outputs, or a mapping from output name or pattern to number in which the key `""`
    means all others. None means the default.
    """

    @staticmethod
    def simple(
        check_error_stat: str | Iterable[str] | Mapping[str, Any] | None = None,
        *,
        rtol: PerOutput = None,
        atol: PerOutput = None,
        error_quantile: PerOutput = None,
        infinities_compare_equal: bool = False,
        nan: str = "differ",
        scale_atol: bool = False,
        detail: bool = False,
        check_shapes: bool | None = None,
        fail_fast: bool | None = None,
        **others: Any,
    ) -> Simple:
        """Return `simple`: absolute and relative errors.

        Args:
            check_error_stat: `elemwise`, `max`, `mean`, `median`, `quantile`, or several, which are all checked.
            rtol: Relative tolerance; 1e-5, and 0 where both sides hold whole numbers or booleans.
            atol: Absolute tolerance; likewise.
            error_quantile: The quantile for `quantile`; 0.99.
            infinities_compare_equal: Whether infinities of one sign are equal.
            nan: `forbid`, `equal` or `differ`.
            scale_atol: Whether the absolute tolerance counts in units of the output's largest value, where that is
                above 1.
            detail: Whether to compute percentiles and the histogram, too.
            check_shapes: Whether another shape is a difference; it is by default. If not, arrays with equally many
                elements are compared in C order.
            fail_fast: Whether to stop at the first output that differs, where two iterations are compared.
            others: Options of `polycmp run` that draw what is compared, as `polycmp-report` brings them:
                `save_heatmaps` and `save_error_metrics_plot` (a folder), `show_heatmaps` and `show_error_metrics_plot`.
                Further keywords of other tools are refused with what to do instead.

        Raises:
            InvalidValueError: A value cannot be right; it is a `ValueError`, too.
            PluginError: The package that draws is not installed, or matplotlib is not.
            UsageError: Pictures shall be shown where no window can open.
        """
        pictures = make_pictures({name: others.pop(name) for name in list(others) if is_picture(name)})
        refuse(others)
        options = _options(
            SimpleOptions,
            rtol=_per_output(rtol),
            atol=_per_output(atol),
            check_error_stat=_statistics(check_error_stat),
            error_quantile=_per_output(error_quantile),
            infinities_compare_equal=infinities_compare_equal,
            nan=nan,
            scale_atol=scale_atol,
        )
        function = Simple(options, detail).with_rules(check_shapes, fail_fast)
        return function if pictures is None else function.showing(pictures.show)

    @staticmethod
    def indices(index_tolerance: int | Mapping[str, int] | None = None, fail_fast: bool | None = None) -> Indices:
        """Return `indices`: lists of indices that may be in slightly another order.

        Args:
            index_tolerance: Places an index may move; 0.
            fail_fast: As for `simple`.
        """
        options = _options(function_options.IndicesOptions, tolerance=_per_output(index_tolerance))
        return Indices(options).with_rules(None, fail_fast)

    @staticmethod
    def l2(l2_tolerance: PerOutput = None, check_shapes: bool | None = None, fail_fast: bool | None = None) -> L2:
        """Return `l2`: the Euclidean norm of the difference.

        Args:
            l2_tolerance: Largest norm that passes; 1e-5.
            check_shapes: As for `simple`.
            fail_fast: As for `simple`.
        """
        options = _options(function_options.L2Options, threshold=_per_output(l2_tolerance))
        return L2(options).with_rules(check_shapes, fail_fast)

    @staticmethod
    def cosine_similarity(
        cosine_similarity_threshold: PerOutput = None, check_shapes: bool | None = None, fail_fast: bool | None = None
    ) -> CosineSimilarity:
        """Return `cosine_similarity`.

        Args:
            cosine_similarity_threshold: Smallest similarity that passes; 0.997.
            check_shapes: As for `simple`.
            fail_fast: As for `simple`.
        """
        options = _options(function_options.CosineOptions, threshold=_per_output(cosine_similarity_threshold))
        return CosineSimilarity(options).with_rules(check_shapes, fail_fast)

    @staticmethod
    def psnr(psnr_tolerance: PerOutput = None, check_shapes: bool | None = None, fail_fast: bool | None = None) -> Psnr:
        """Return `psnr`: the peak signal-to-noise ratio.

        Args:
            psnr_tolerance: Smallest ratio in dB that passes; 30.
            check_shapes: As for `simple`.
            fail_fast: As for `simple`.
        """
        options = _options(function_options.PsnrOptions, threshold=_per_output(psnr_tolerance))
        return Psnr(options).with_rules(check_shapes, fail_fast)

    @staticmethod
    def snr(snr_tolerance: PerOutput = None, check_shapes: bool | None = None, fail_fast: bool | None = None) -> Snr:
        """Return `snr`: the signal-to-noise ratio.

        Args:
            snr_tolerance: Smallest ratio in dB that passes; 20.
            check_shapes: As for `simple`.
            fail_fast: As for `simple`.
        """
        options = _options(function_options.SnrOptions, threshold=_per_output(snr_tolerance))
        return Snr(options).with_rules(check_shapes, fail_fast)

    @staticmethod
    def ulp(ulp_tolerance: int | Mapping[str, int] | None = None) -> Ulp:
        """Return `ulp`: the distance in representable numbers.

        Args:
            ulp_tolerance: Largest distance that passes; 4.
        """
        return Ulp(_options(function_options.UlpOptions, tolerance=_per_output(ulp_tolerance)))


def refuse(keywords: Mapping[str, Any]) -> None:
    """Refuse keywords that only other tools have, and unknown ones, even where their value asks for nothing."""
    for name, value in keywords.items():
        if name == "find_output_func":
            hint = "outputs are matched by exact name; Comparator.compare_accuracy(map_output={...}) maps others"
        elif name.startswith(("save_", "show_")):
            hint = f"a compare function draws nothing: polycmp run --{name.replace('_', '-')}, if a package brings it"
        else:
            raise TypeError(f"there is no keyword {name!r}")
        if value:
            raise InvalidValueError(f"{name}= is not supported", hint=hint)


def _per_output(value: Any) -> Mapping[str, Any] | None:
    return value if value is None or isinstance(value, Mapping) else {"": value}


def _statistics(value: Any) -> Mapping[str, tuple[str, ...]] | None:
    if value is None:
        return None
    named = value if isinstance(value, Mapping) else {"": value}
    return {name: (item,) if isinstance(item, str) else tuple(item) for name, item in named.items()}


def _options(make: Callable[..., T], **fields: Any) -> T:
    try:
        return make(**{name: value for name, value in fields.items() if value is not None})
    except ValueError as error:
        raise InvalidValueError(str(error)) from None
