"""Result of `Comparator.compare_accuracy`."""

from __future__ import annotations

from polycmp.compare import OutputComparison, verdict_over


class AccuracyResult(dict[tuple[str, str], list[dict[str, OutputComparison]]]):
    """Verdicts by pair of runs, then iteration, then output; true if everything agreed and could have differed."""

    def __init__(self) -> None:
        super().__init__()
        self.reasons: list[str] = []

    def __bool__(self) -> bool:
        verdicts = self._verdicts()
        return bool(verdicts) and not self.reasons and all(item.passed for item in verdicts)

    def _verdicts(self) -> list[OutputComparison]:
        return [item for iterations in self.values() for outputs in iterations for item in outputs.values()]

    @property
    def verdict(self) -> str:
        """`passed`, `failed`, `undecided` or `blind`, as `polycmp run` says it; `failed` if nothing was compared."""
        verdict = verdict_over(self._verdicts())
        return "failed" if verdict == "passed" and not self else verdict if not self.reasons else "failed"

    @property
    def compared(self) -> bool:
        """Whether any output was compared with another."""
        return any(item.candidate_type and item.reference_type for item in self._verdicts())

    def stats(self, runner_pair: tuple[str, str] | None = None) -> tuple[int, int, int]:
        """Count the iterations of a pair that passed, that failed, and all that were compared.

        Args:
            runner_pair: Labels of candidate and reference; by default the first pair.
        """
        iterations = self[runner_pair or next(iter(self))]
        passed = sum(all(item.passed for item in outputs.values()) for outputs in iterations)
        return passed, len(iterations) - passed, len(iterations)

    def percentage(self, runner_pair: tuple[str, str] | None = None) -> float:
        """Return the share of a pair's iterations that passed, from 0 to 1."""
        passed, _, total = self.stats(runner_pair)
        return passed / total if total else 0.0

    def output_names(self) -> list[str]:
        """Return the names of all outputs that were compared."""
        verdicts = (item for iterations in self.values() for outputs in iterations for item in outputs)
        return list(dict.fromkeys(verdicts))

    def describe(self) -> str:
        """Return the verdicts as text: one line per pair, and one per output that differs."""
        lines = []
        for pair, iterations in self.items():
            passed, _, total = self.stats(pair)
            lines.append(f"{pair[0]} against {pair[1]}: {passed} of {total} iterations passed")
            for index, outputs in enumerate(iterations):
                lines += [
                    f"  iteration {index}, {name}: {item.reason}" for name, item in outputs.items() if not item.passed
                ]
        return "\n".join([*lines, *self.reasons])


class AccuracyResults(list[AccuracyResult]):
    """One result for each compare function; true if all are."""

    def __bool__(self) -> bool:
        return len(self) > 0 and all(self)
