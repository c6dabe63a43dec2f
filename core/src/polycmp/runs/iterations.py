"""The iterations of one backend: how long its calls took, and what the record of its run says of them."""

from __future__ import annotations

from polycmp.results.outcome import BackendResult, Timing
from polycmp.tensors import TensorMetadata


class Iterations:
    """Calls of one backend, noted in its record."""

    def __init__(self, result: BackendResult) -> None:
        self._result = result
        self._seconds: list[float] = []

    @property
    def last_seconds(self) -> float:
        """The duration of the last call in seconds; 0 before the first."""
        return self._seconds[-1] if self._seconds else 0.0

    def add(self, seconds: float, outputs: TensorMetadata | None) -> None:
        """Note one call.

        Args:
            seconds: Its duration.
            outputs: Names, types and shapes of its outputs; None if it is no iteration, as a warm-up call is none.
        """
        self._seconds.append(seconds)
        if outputs is not None:
            self._result.iterations += 1
            self._result.outputs = outputs

    def start_again(self) -> None:
        """Forget the calls so far: they were made with inputs that others take the place of."""
        self._seconds.clear()
        self._result.iterations, self._result.timing, self._result.outputs = 0, None, TensorMetadata()

    def sum_up(self) -> None:
        """Note the durations of all calls; once, at the end, as it sorts them."""
        self._result.timing = Timing.of(self._seconds)
