"""Whether the results of a request depend on those beside it: on a batch that the server packs, or rows of one request.

The same request is sent alone, at once with others, and stacked with them into one request. Nothing is judged here: the
results that were moved most are those that the run compares, and notes say by how much, and how.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.errors import BackendError, describe_exception
from polycmp.sentences import counted
from polycmp.tensors import TensorMetadata, dtype_class, is_low_bit

Arrays = dict[str, NDArray[Any]]

#: Rows that a note names.
_SHOWN = 4
AT_ONCE, STACKED, AGAIN = "sent at once", "stacked into one request", "sent alone again"


@dataclass(frozen=True)
class Move:
    """How far an output is from that of the request alone.

    Attributes:
        output: The output.
        how: `AT_ONCE`, `STACKED` or `AGAIN`.
        rows: Rows of the output that differ; empty where it has one, or none that are those of the request.
        count: Number of rows of the output.
        largest: The largest difference; of text and truth values 1.
        part: The same as a part of the output's largest value.
    """

    output: str
    how: str
    rows: tuple[int, ...]
    count: int
    largest: float
    part: float


class Neighbours:
    """Sends requests among others, and remembers the largest move of each output.

    Args:
        count: Number of requests at once, the one that is asked for among them.
        ask: Sends one request and returns its outputs; called by several threads.
        inputs: The inputs that the server declares.
    """

    def __init__(self, count: int, ask: Callable[[Arrays], Arrays], inputs: TensorMetadata) -> None:
        self._count, self._ask = count, ask
        self._stackable = bool(inputs) and all(
            entry.shape and not (isinstance(entry.shape[0], int) and entry.shape[0] >= 0) for entry in inputs.values()
        )
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="polycmp-oip")
        self._moves: dict[tuple[str, str], Move] = {}
        self._refused: dict[str, str] = {}
        self._stacked = self._asked = False

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def infer(self, arrays: Arrays, alone: Arrays) -> Arrays:
        """Return the outputs among neighbours that are furthest from those of the request alone.

        Args:
            arrays: The request.
            alone: Its outputs when it was sent alone.

        Raises:
            BackendError: The request fails only among others.
        """
        self._asked = True
        feeds = [_shifted(arrays, number, self._count) for number in range(self._count)]
        place = self._count // 2
        feeds.insert(place, feeds.pop(0))
        results = [(AT_ONCE, self._at_once(feeds, place))]
        rows = {array.shape[0] if array.ndim else 0 for array in arrays.values()}
        if self._stackable and len(rows) == 1 and rows != {0}:
            outputs = self._in_one(feeds, place, rows.pop())
            results += [(STACKED, outputs)] if outputs else []
        moves = [move for how, outputs in results for move in _moves(alone, outputs, how)]
        if moves:
            moves += _moves(alone, self._ask(arrays), AGAIN)
        for move in moves:
            known = self._moves.get((move.output, move.how))
            if known is None or move.part > known.part:
                self._moves[move.output, move.how] = move
        furthest = max(results, key=lambda result: max((m.part for m in moves if m.how == result[0]), default=0.0))
        return {**alone, **furthest[1]}

    def notes(self) -> list[str]:
        """Return in words what the neighbours changed."""
        others = counted(self._count - 1, "neighbour")
        notes = [self._note(move, others) for move in self._moves.values()]
        notes += [f"{how} with {others}: {why}" for how, why in self._refused.items()]
        if self._asked and not self._moves:
            ways = f"{AT_ONCE} or {STACKED}" if self._stacked else AT_ONCE
            notes.insert(0, f"{others} change nothing: {ways}, outputs are the same to the last bit")
        return notes

    def _note(self, move: Move, others: str) -> str:
        size = f"by up to {move.largest:.3g} ({move.part:.2g} of its largest value)"
        if move.how == AGAIN:
            return f"output {move.output!r} moves {size} also when the same request is sent alone again"
        shown = (
            ", ".join(map(str, move.rows[:_SHOWN])) if len(move.rows) <= _SHOWN else f"{len(move.rows)} of {move.count}"
        )
        if move.count > 1 and move.rows:
            rows = f"row {shown}" if len(move.rows) == 1 else f"rows {shown}"
            verbs = ("depends on its", "it moves") if len(move.rows) == 1 else ("depend on their", "they move")
            subject = f"{rows} of output {move.output!r} {verbs[0]} neighbours: {verbs[1]}"
        else:
            subject = f"output {move.output!r} depends on the request's neighbours: it moves"
        return f"{subject} {size} when {move.how} with {others}"

    def _at_once(self, feeds: list[Arrays], place: int) -> Arrays:
        futures = [self._pool.submit(self._ask, feed) for feed in feeds]
        errors = [future.exception() for future in futures]
        own = errors[place]
        if own is not None:
            raise BackendError(
                "runs the request alone, and not among others", why=describe_exception(own), hint="leave among= out"
            ) from own
        refused = [describe_exception(error) for error in errors if error is not None]
        if refused:
            self._refused[AT_ONCE] = f"{counted(len(refused), 'neighbour')} failed: {refused[0]}"
        return futures[place].result()

    def _in_one(self, feeds: list[Arrays], place: int, rows: int) -> Arrays:
        """Return the request's part of the outputs of all in one; nothing where the server refuses so many rows."""
        stacked = {name: np.concatenate([feed[name] for feed in feeds]) for name in feeds[0]}
        try:
            outputs = self._ask(stacked)
        except BackendError as error:
            self._refused[STACKED] = f"refused: {describe_exception(error)}"
            return {}
        self._stacked = True
        return {
            name: array[place * rows : (place + 1) * rows]
            for name, array in outputs.items()
            if array.ndim and array.shape[0] == rows * self._count
        }


def _shifted(arrays: Arrays, number: int, count: int) -> Arrays:
    """Return other inputs of the same values, which the model is sure to take: each array moved along by a part."""
    shifts = {name: number * max(array.size // count, 1) for name, array in arrays.items()}
    return {name: np.roll(array, shifts[name]) for name, array in arrays.items()}


def _moves(alone: Mapping[str, Any], among: Mapping[str, Any], how: str) -> list[Move]:
    moves = []
    for name, array in among.items():
        move = _move(name, alone[name], array, how)
        if move is not None:
            moves.append(move)
    return moves


def _move(output: str, alone: NDArray[Any], among: NDArray[Any], how: str) -> Move | None:
    if alone.shape != among.shape:
        return Move(output, how, (), 0, 1.0, 1.0)
    differs = np.asarray(alone != among)
    if dtype_class(alone.dtype) in {"float", "complex"}:
        differs &= ~(np.isnan(_wide(alone)) & np.isnan(_wide(among)))
    if not differs.any():
        return None
    count = alone.shape[0] if alone.ndim else 1
    rows = np.flatnonzero(differs.reshape(count, -1).any(axis=1)) if count else np.zeros(0, np.int64)
    largest, part = 1.0, 1.0
    if dtype_class(alone.dtype) in {"float", "integer"}:
        one, two = _wide(alone), _wide(among)
        with np.errstate(all="ignore"):
            largest = float(np.nanmax(np.abs(one - two), initial=0.0, where=differs))
            scale = float(np.nanmax(np.abs(one), initial=0.0, where=np.isfinite(one)))
        part = largest / scale if scale else 1.0
    return Move(output, how, tuple(rows.tolist()), count, largest, part)


def _wide(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(np.float64) if is_low_bit(array.dtype) or array.dtype.kind != "c" else array
