"""Result of a ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polycmp.results import BackendResult
from polycmp_locate.pairing.result import Pairing

if TYPE_CHECKING:
    from polycmp_locate.precision.mixed import Layer


_NEXT_TO_ALL = 0.95


@dataclass(frozen=True)
class Codes:
    """Fit of the numbers of a type to those of a tensor.

    Attributes:
        type: The type: `float16`, `int8`.
        tensor: The tensor, or the weight.
        saturated: Share of the elements beyond its largest number.
        underflow: Share of the elements that become zero without being zero.
        used: Share of its range between the smallest and the largest code; None for a type with an exponent.
    """

    type: str
    tensor: str
    saturated: float = 0.0
    underflow: float = 0.0
    used: float | None = None


@dataclass(frozen=True)
class Powers:
    """Sums of squares over the elements of a tensor.

    Attributes:
        signal: Of the reference's tensor.
        layer_error: Of what the layer that makes it does wrong alone.
        arrived: Of its error as it comes through the reduced model; 0 until that was measured.
    """

    signal: float
    layer_error: float
    arrived: float = 0.0


@dataclass
class LayerFigures:
    """Figures of one layer.

    Attributes:
        layer: The layer.
        layer_ratio: Signal-to-noise ratio in dB of what it makes alone of the reference's tensors.
        accumulated: The same ratio of its tensors as they come through the reduced model; infinite until measured.
        codes: Fit of its tensors and weights to the smaller type.
        one_step: Share of elements that it alone puts one step of the smaller type away; None without such a type.
        more_steps: Share of elements that are further away.
        peak: Most extreme channel: its index, its largest magnitude, and that of the median channel.
        alone: Signal-to-noise ratio of the model's outputs with this layer alone in float; None if not measured.
        without: That with all layers kept in the end but this one; None if not measured.
        in_float: Whether it stays in float in the end.
        powers: Signal and errors of what it makes, by tensor.
        share: Estimated share of the error of the model's outputs.
        modules: The modules around it, the outermost first; empty if the file does not say.
    """

    layer: Layer
    layer_ratio: float
    accumulated: float = float("inf")
    powers: Mapping[str, Powers] = field(default_factory=dict)
    share: float = 0.0
    codes: Sequence[Codes] = ()
    one_step: float | None = None
    more_steps: float | None = None
    peak: tuple[int, float, float] | None = None
    alone: float | None = None
    without: float | None = None
    in_float: bool = False
    modules: tuple[str, ...] = ()

    @property
    def saturated(self) -> float:
        """The largest share of elements beyond the type's range."""
        return max((item.saturated for item in self.codes), default=0.0)

    @property
    def underflow(self) -> float:
        """The largest share of elements that become zero."""
        return max((item.underflow for item in self.codes), default=0.0)

    @property
    def used(self) -> float | None:
        """The smallest share of a quantised range that is used."""
        return min((item.used for item in self.codes if item.used is not None), default=None)

    @property
    def overflows(self) -> bool:
        """Whether the layer alone returns infinities or NaN where the reference has numbers."""
        return self.layer_ratio == float("-inf")

    @property
    def is_ruined(self) -> bool:
        """Whether numbers overflow, or almost all of a tensor or weight becomes zero."""
        return self.overflows or self.underflow > _NEXT_TO_ALL

    @property
    def rank(self) -> tuple[bool, float, float]:
        """Sort key of layers, those to be kept in float first.

        A ruined layer comes first: its share of the error cannot be estimated, since it hides what others bring.
        """
        return not self.is_ruined, -self.share, self.layer_ratio


@dataclass(frozen=True)
class MixedTrial:
    """A model with some layers in float, run and judged.

    Attributes:
        float_layers: Positions of these layers.
        passed: Whether all outputs are within the tolerance, for all inputs.
        ratio: The smallest signal-to-noise ratio of an output in dB.
        reason: Reason of a failure.
        error: Error of the backend that could not run it.
        verdict: The verdict in one word, as of a run.
    """

    float_layers: frozenset[int]
    passed: bool
    ratio: float
    reason: str = ""
    error: str = ""
    verdict: str = ""


@dataclass
class Ranking:
    """Result of a ranking.

    Attributes:
        candidate: The label of the backend that runs the reduced model.
        reference: The label of the one to believe.
        mode: Search method: `guided`, `bisect` or `linear`.
        layers: The layers that the smaller type concerns, in the model's order.
        float_layers: Positions in `layers` of those that stay in float; None if no model meets the tolerance.
        trials: Every model that was run and judged, in this order.
        search_runs: Number of runs of reduced and mixed models to find `float_layers`; all layers once alone are one.
        all_runs: Number of all such runs, those to measure the gain of layers included.
        fewest: Whether it was verified that none of the kept layers can be left out.
        pairing: Pairs of tensors of the two models.
        searched: Whether the fewest layers to keep were looked for; if not, `float_layers` is empty or None.
    """

    candidate: str
    reference: str
    mode: str
    layers: list[LayerFigures] = field(default_factory=list)
    float_layers: Sequence[int] | None = None
    trials: Sequence[MixedTrial] = ()
    search_runs: int = 0
    all_runs: int = 0
    fewest: bool = True
    searched: bool = True
    pairing: Pairing = field(default_factory=lambda: Pairing(()))
    notes: list[str] = field(default_factory=list)
    backends: Sequence[BackendResult] = ()
    files: list[str] = field(default_factory=list)
    command: str = ""
    seconds: float = 0.0

    @property
    def reduced(self) -> MixedTrial | None:
        """The trial of the reduced model without layers in float."""
        return next((trial for trial in self.trials if not trial.float_layers), None)

    @property
    def failed_backends(self) -> list[BackendResult]:
        """The backends that could not run a model."""
        return [item for item in self.backends if item.error]
