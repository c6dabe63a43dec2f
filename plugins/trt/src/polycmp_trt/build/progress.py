"""Progress of a build, shown from time to time, and how long it may take by earlier ones."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any

from polycmp_trt.build.callbacks import guarded, remember_errors
from polycmp_trt.build.layers import allowed_precisions
from polycmp_trt.features import import_tensorrt, supports

if TYPE_CHECKING:
    import tensorrt as trt

__all__ = ["BuildHistory", "BuildProgress", "history", "progress_monitor", "watch_build"]

_LOG = logging.getLogger("polycmp.trt")
#: Seconds between two messages; a build that takes less says nothing.
EVERY = 15.0


class BuildHistory:
    """Durations of builds in this process."""

    def __init__(self) -> None:
        self._known: dict[str, list[tuple[int, float]]] = {}

    def learn(self, kind: str, layers: int, seconds: float) -> None:
        """Remember a build.

        Args:
            kind: The precisions that were allowed.
            layers: Number of layers of the network.
            seconds: Duration of the build.
        """
        self._known.setdefault(kind, []).append((layers, seconds))

    def expect(self, kind: str, layers: int) -> float | None:
        """Return the seconds that a build may take, by the one nearest in size; None if there was none of its kind."""
        known = self._known.get(kind)
        if not known:
            return None
        count, seconds = min(known, key=lambda each: abs(each[0] - layers))
        return seconds * layers / max(1, count)


@cache
def history() -> BuildHistory:
    """Return the durations of this process' builds; only messages depend on them."""
    return BuildHistory()


def watch_build(network: trt.INetworkDefinition, config: trt.IBuilderConfig) -> BuildProgress:
    """Return a context manager around a build that says how far it is.

    Args:
        network: The network to build.
        config: The configuration; on releases that have one it is given a progress monitor, unless it has one.
    """
    phases: dict[str, tuple[int, int]] = {}
    if supports("progress_monitor") and config.progress_monitor is None:
        config.progress_monitor = progress_monitor(phases)
    kind = ", ".join(allowed_precisions(config)).lower()
    return BuildProgress(int(network.num_layers), kind, phases)


class BuildProgress:
    """Progress of a build, printed every few seconds, on releases that tell the phase.

    Args:
        layers: Number of layers of the network.
        kind: The precisions that are allowed besides float32, as text.
        phases: Phases under way: steps done, and steps in all, by name.
        known: Durations of earlier builds; None if they are not known.
        every: Seconds between two messages.
    """

    def __init__(
        self,
        layers: int,
        kind: str = "",
        phases: Mapping[str, tuple[int, int]] | None = None,
        known: BuildHistory | None = None,
        every: float = EVERY,
    ) -> None:
        self._layers, self._kind, self._every = layers, kind, every
        self._phases = phases if phases is not None else {}
        self._history = known or history()
        self._expected = self._history.expect(kind, layers)
        self._over = threading.Event()
        self._start = time.monotonic()

    def __enter__(self) -> BuildProgress:
        self._start = time.monotonic()
        threading.Thread(target=self._tell, name="polycmp-build-progress", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if error is None:
            self._history.learn(self._kind, self._layers, time.monotonic() - self._start)

    def text(self) -> str:
        """Describe the progress in words."""
        seconds = f"{time.monotonic() - self._start:.0f}"
        expected = self._expected
        time_text = f"{seconds} of about {expected:.0f} s" if expected is not None else f"{seconds} s so far"
        phase = next(reversed(list(self._phases.items())), None)
        where = f"; {phase[0]}: {phase[1][0]} of {phase[1][1]}" if phase is not None else ""
        kind = f" ({self._kind})" if self._kind else ""
        return f"still building an engine of {self._layers} layers{kind}: {time_text}{where}"

    def _tell(self) -> None:
        while not self._over.wait(self._every):
            _LOG.info("%s", self.text())


def progress_monitor(phases: dict[str, tuple[int, int]]) -> Any:
    """Return a `tensorrt.IProgressMonitor` that notes how many steps of each phase under way are done.

    Args:
        phases: Mapping to update: steps done, and steps in all, by name of the phase.
    """
    trt = import_tensorrt()

    @remember_errors
    class Monitor(trt.IProgressMonitor):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            trt.IProgressMonitor.__init__(self)

        @guarded(None)
        def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None:
            phases[phase_name] = (0, num_steps)

        @guarded(None)
        def phase_finish(self, phase_name: str) -> None:
            phases.pop(phase_name, None)

        @guarded(True)
        def step_complete(self, phase_name: str, step: int) -> bool:
            phases[phase_name] = (step + 1, phases.get(phase_name, (0, step + 1))[1])
            return True

    return Monitor()
