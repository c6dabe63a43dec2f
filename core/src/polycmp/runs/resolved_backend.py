"""One backend of a plan with the model that it runs, and what makes its runners."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from polycmp.errors import PluginError
from polycmp.loader import Loader
from polycmp.model import Model
from polycmp.options import changed_options, find_field
from polycmp.plan import BackendPlan
from polycmp.precision import STEPS, UNITS, unit_of
from polycmp.results.outcome import BackendResult
from polycmp.runner import Runner
from polycmp.runs.backend_run import BackendRun
from polycmp.spec import RunnerTools

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph
    from polycmp.plugins import Contributed
    from polycmp.spec import RunnerSpec, Switch
    from polycmp.tensors import Feed

#: Makes the runner of a backend in a worker process: of the model itself, or of the part that a loader makes.
MakeWorker = Callable[["ResolvedBackend", "Loader[Any] | None", bool], Runner]


@dataclass
class WorkerFacts:
    """What only another environment knows of a backend, filled in once a worker there has activated its runner.

    Attributes:
        precision: As `ResolvedBackend.precision`.
    """

    precision: str = ""


@dataclass(frozen=True)
class ResolvedBackend:
    """One backend of a plan, with all that it takes to run it.

    Attributes:
        plan: The backend as the plan asks for it.
        model: The model that it runs, as loaders make it that share the backend's options.
        contribution: The plugin's descriptor; None if only another environment knows the backend.
        make_worker: Makes its runner in a worker process; None if it runs in this one.
        worker_facts: What a worker told of it, where no plugin of this environment does.
    """

    plan: BackendPlan
    model: Model
    contribution: Contributed[RunnerSpec] | None
    make_worker: MakeWorker | None = None
    worker_facts: WorkerFacts = field(default_factory=WorkerFacts, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Have loaders that share this backend's options take those of this instance, not of another one."""
        if self.contribution is not None:
            model = self.model.for_backend(self.contribution.spec, self.plan.options)
            object.__setattr__(self, "model", model)

    @property
    def label(self) -> str:
        """The label in reports."""
        return self.plan.label

    @property
    def tools(self) -> RunnerTools:
        """What the backend can do; nothing is known of one that only another environment has."""
        return RunnerTools() if self.contribution is None else self.model.registry.tools(self.contribution)

    @property
    def needs(self) -> tuple[str, ...]:
        """Modules whose version tells which backend this is."""
        return self.contribution.spec.needs if self.contribution is not None else ()

    @property
    def runs_parts(self) -> bool | None:
        """Whether the backend runs parts of a model; None if only another environment knows."""
        return None if self.contribution is None else self.inside == "graph"

    @cached_property
    def inside(self) -> ModelGraph | str:
        """The view of inner tensors: "graph", "none", or the graph that the backend runs in place of the model.

        It is "elsewhere" where that graph is seen from the backend's own environment alone.
        """
        if self.contribution is None:
            return "none"
        with self.model.registry.explained(self.contribution):
            view = self.tools.inside(self.model, self.plan.options)
        return view if self.make_worker is None or isinstance(view, str) else "elsewhere"

    @property
    def precision(self) -> str:
        """The coarsest type that its options let it calculate in; empty if they say nothing of it.

        Raises:
            PluginError: It is none whose rounding is known.
        """
        precision = self.worker_facts.precision if self.contribution is None else self._precision
        if precision and not unit_of(precision):
            raise PluginError(
                f"{self.label} says that it calculates in {precision!r}, a type whose rounding polycmp does not know",
                why=f"it knows {', '.join((*UNITS, *STEPS))}",
                hint="update polycmp, or have the backend's plugin name one of these",
            )
        return precision

    @cached_property
    def _precision(self) -> str:
        assert self.contribution is not None
        with self.model.registry.explained(self.contribution):
            return self.tools.precision(self.model, self.plan.options)

    @cached_property
    def recorded_inputs(self) -> Iterable[Feed] | None:
        """The inputs of a run that is over, where the backend shows one and knows them."""
        if self.contribution is None:
            return None
        with self.model.registry.explained(self.contribution):
            return self.tools.recorded_inputs(self.model, self.plan.options)

    @property
    def compiles(self) -> bool:
        """Whether making one of its runners takes seconds or more."""
        return self.tools.compiles

    @property
    def runs_beside_others(self) -> bool:
        """Whether its runners may work at the same time as those of other backends."""
        if self.contribution is None or self.make_worker is not None:
            return False
        changed = set(changed_options(self.plan.options))
        return self.tools.concurrent and changed.isdisjoint(self.tools.exclusive)

    def make_result(self) -> BackendResult:
        """Return an empty record of a run."""
        options = {**changed_options(self.plan.options), **self.plan.texts}
        result = BackendResult(
            label=self.label,
            backend=self.plan.backend,
            options={key: str(value) for key, value in options.items()},
            model=self.model.path,
        )
        result.precision = self.precision
        return result

    def make_run(self, loader: Loader[Any] | None = None) -> BackendRun:
        """Return a run of the whole model, not active.

        Args:
            loader: Makes what to run in place of the model, with the same inputs.
        """
        return BackendRun(self.make_result(), partial(self.make_runner, loader), self.needs)

    @property
    def can_perturb(self) -> bool:
        """Whether `make_perturbed_run` can be called."""
        return self.tools.perturbed is not None and self.make_worker is None

    def make_perturbed_run(self, kind: str, seed: int, times: float = 1.0) -> BackendRun:
        """Return a run of the model whose operators' results move, not active.

        Args:
            kind: The type that they are rounded to; empty for the model as it is, with all optimisations off.
            seed: Seed of the random numbers.
            times: How many times as far they move as rounding moves them.
        """
        assert self.tools.perturbed is not None
        make = partial(self.tools.perturbed, self.model, self.plan.options, kind, seed, times, name=self.label)
        return BackendRun(self.make_result(), make, self.needs)

    def make_runner(self, part: Loader[Any] | None = None, same_inputs: bool = True, *, runs: bool = True) -> Runner:
        """Return a runner, not active.

        Args:
            part: Makes what to run in place of the model; by default the model itself runs.
            same_inputs: Whether the part has the model's own inputs.
            runs: Whether it will run here, so that what it needs has to be installed.

        Raises:
            PluginError: The backend's plugin is broken, or lacks a module.
        """
        if self.make_worker is not None:
            return self.make_worker(self, part, same_inputs)
        assert self.contribution is not None
        model = self.model if part is None else self.model.part(part, same_inputs=same_inputs)
        if runs:
            model.registry.require(self.contribution)
        return model.registry.load(self.contribution)(model, self.plan.options, name=self.label)

    def with_option(self, name: str, value: Any) -> ResolvedBackend | None:
        """Return the same backend with one option changed; None if it has no such option, or refuses the value."""
        options = self.plan.options
        if options is None or find_field(type(options), name) is None:
            return None
        try:
            changed = replace(options, **{name: value})
        except ValueError:  # a check of the options' own, such as one of values that do not go together
            return None
        return replace(self, plan=replace(self.plan, options=changed))

    def switch_values(self, switch: Switch) -> tuple[Any, ...]:
        """Return the values of an option that switch something off.

        Raises:
            PluginError: The plugin is broken.
        """
        if not switch.values_from or self.contribution is None or self.make_worker is not None:
            return switch.values
        return tuple(self.model.registry.load(self.contribution, switch.values_from)(self.model, self.plan.options))
