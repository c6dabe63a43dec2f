"""Search for the smallest part of a model that still fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from polycmp_locate.ddmin import ddmin, least_passing
from polycmp_locate.reduce.parts import ModelPart, PartCutter

#: Verdicts on a part: it fails as the model does, it passes, or it cannot be judged.
State = Literal["fails", "passes", "unknown"]
Judge = Callable[[ModelPart], State]


@dataclass(frozen=True)
class ReduceOptions:
    """Options of the search for a smaller part.

    Attributes:
        linear: Whether to go operator by operator instead of halving.
        outputs: Whether to move the outputs towards the inputs.
        inputs: Whether to move the inputs towards the outputs.
        around: Whether to look for a passing part that is like the failing one in size.
    """

    linear: bool = False
    outputs: bool = True
    inputs: bool = True
    around: bool = True


class Reducer:
    """Makes a part smaller as long as it fails. Each part is judged once.

    Args:
        parts: Cuts parts out of the model.
        judge: Judges a part.
        options: Options of the search; None for the defaults.
        suspects: Gives the positions of operators that may be at fault, once the whole model has failed.

    Attributes:
        failing: The smallest part so far that fails.
        judged: Every part that was judged, with its verdict, in this order.
    """

    def __init__(
        self,
        parts: PartCutter,
        judge: Judge,
        options: ReduceOptions | None = None,
        suspects: Callable[[], Sequence[int]] = tuple,
    ) -> None:
        self.parts = parts
        self.options = options or ReduceOptions()
        self.failing: ModelPart | None = None
        self.judged: dict[ModelPart, State] = {}
        self._judge, self._suspects = judge, suspects

    def start(self, outputs: Sequence[str]) -> bool:
        """Judge the whole model; return whether it fails."""
        return self._fails(self.parts.whole(outputs))

    def reduce(self) -> ModelPart | None:
        """Return the smallest part that was found to fail; None if the whole model does not."""
        if self.failing is None:
            return None
        if self.options.outputs and self.options.inputs and not self.options.linear:
            self._try_suspects()
        if self.options.outputs:
            self._move_outputs()
            self._drop_outputs()
        if self.options.inputs:
            self._move_inputs()
            self._drop_operators()
        if self.options.around:
            self._look_around()
        return self.failing

    def nearest_passing(self) -> ModelPart | None:
        """Return the passing part that is nearest to the failing one: in size, in what both hold, in place."""
        failing = self.failing
        if failing is None:
            return None
        nodes, size, place = set(failing.nodes), failing.size, max(failing.nodes)
        passing = [part for part, state in self.judged.items() if state == "passes"]

        def distance(part: ModelPart) -> tuple[int, int, int]:
            return abs(part.size - size), -len(nodes & set(part.nodes)), abs(max(part.nodes) - place)

        return min(passing, key=distance, default=None)

    def _look_around(self) -> None:
        """Judge parts of about the failing one's size, to find a passing one to compare with.

        That is the same part without its last operator, and the operator right before it.
        """
        assert self.failing is not None
        part, graph = self.failing, self.parts.graph
        inner = [name for index in part.nodes[:-1] for name in graph.nodes[index].outputs]
        before = [name for name in part.inputs if name in self.parts.maker]
        for outputs, nodes in ((inner[-1:], part.nodes[:-1]), (before[:1], [self.parts.maker[n] for n in before[:1]])):
            if outputs and not set(outputs) <= self.parts.static:
                self._state(self.parts.between(nodes, outputs))

    def _state(self, part: ModelPart) -> State:
        if part not in self.judged:
            self.judged[part] = self._judge(part) if part.outputs and part.nodes else "unknown"
        return self.judged[part]

    def _fails(self, part: ModelPart) -> bool:
        if self._state(part) != "fails":
            return False
        if self.failing is None or part.size <= self.failing.size:
            self.failing = part
        return True

    def _try_suspects(self) -> None:
        """Judge suspected operators alone: no part is smaller than one that fails."""
        for index in self._suspects():
            outputs = [name for name in self.parts.graph.nodes[index].outputs if name not in self.parts.graph.opaque]
            if not set(outputs) <= self.parts.static and self._fails(self.parts.between([index], outputs)):
                return

    def _move_outputs(self) -> None:
        """Find the first operator whose results, computed from the model's inputs, are wrong."""
        places = self._places()

        def fails(count: int) -> bool:
            return self._fails(self.parts.before(places[count - 1] + 1))

        first = self._smallest(fails, len(places))
        if first is None:
            return
        node = self.parts.graph.nodes[places[first - 1]]
        outputs = [name for name in node.outputs if name not in self.parts.graph.opaque]
        self._fails(self.parts.between(range(places[first - 1] + 1), outputs))

    def _places(self) -> list[int]:
        """Return the positions of the failing part's operators that depend on inputs."""
        assert self.failing is not None
        nodes, static = self.parts.graph.nodes, self.parts.static
        return [index for index in self.failing.nodes if not set(nodes[index].outputs) <= static]

    def _smallest(self, fails: Callable[[int], bool], most: int) -> int | None:
        """Return the smallest number for which it fails, `most` excluded; None if there is none."""
        if self.options.linear:
            return next((count for count in range(1, most) if fails(count)), None)
        least = least_passing(fails, 0, most)
        return least if least < most else None

    def _drop_outputs(self) -> None:
        """Keep as few outputs as possible."""
        assert self.failing is not None
        for name in self.failing.outputs:
            rest = tuple(item for item in self.failing.outputs if item != name)
            alone = self.parts.between(self.failing.nodes, (name,))
            if len(self.failing.outputs) > 1 and self._fails(alone):
                return
            if len(rest) > 1:
                self._fails(self.parts.between(self.failing.nodes, rest))

    def _move_inputs(self) -> None:
        """Find the smallest number of operators before the outputs that still fails, most often one."""
        part, places = self.failing, self._places()
        assert part is not None

        def fails(count: int) -> bool:
            return self._fails(self.parts.last(count, places, part.outputs))

        if self.options.linear:
            self._smallest(fails, len(places))
            return
        low, high = 0, 1
        while high < len(places) and not fails(high):
            low, high = high, high * 2
        least_passing(fails, low, min(high, len(places)))

    def _drop_operators(self) -> None:
        """Remove operators from branches, many at a time at first, then one by one until none can go."""
        assert self.failing is not None
        outputs = self.failing.outputs

        def fails(chosen: Sequence[int]) -> bool:
            part = self.parts.between(chosen, outputs)
            smallest = self.failing
            return part == smallest or (smallest is not None and part.size < smallest.size and self._fails(part))

        ddmin(self._places(), fails)
