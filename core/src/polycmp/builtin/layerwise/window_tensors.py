"""Owner of the tensors of a window: one object, which releases them all when the next window is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polycmp.errors import InvalidValueError

Tensors = Mapping[str, Any]


class WindowTensors(Mapping[str, Tensors]):
    """The tensors of one window, by label of the run that made them and then by name.

    It alone holds them. Steps and variables hold it, or a run's part of it, and so hold no memory once it has let go:
    as a context manager at the end of the block.
    """

    def __init__(self, made: Mapping[str, Tensors]) -> None:
        self._made: dict[str, Tensors] | None = dict(made)

    def __enter__(self) -> WindowTensors:
        return self

    def __exit__(self, *_error: object) -> None:
        self.release()

    def release(self) -> None:
        """Let go of all tensors; who still holds arrays of them keeps those alone."""
        self._made = None

    def of(self, label: str) -> Tensors:
        """Return the tensors of one run themselves.

        Raises:
            InvalidValueError: They were let go of.
        """
        if self._made is None:
            raise InvalidValueError(
                "the tensors of a window are gone",
                why="they are held until the next window is asked for",
                hint="copy what is wanted later, or keep numbers instead",
            )
        return self._made[label]

    def __getitem__(self, label: str) -> Tensors:
        self.of(label)
        return _RunTensors(self, label)

    def __iter__(self) -> Iterator[str]:
        return iter(self._made or ())

    def __len__(self) -> int:
        return len(self._made or ())


class _RunTensors(Tensors):
    """One run's part of a window."""

    def __init__(self, owner: WindowTensors, label: str) -> None:
        self._owner = owner
        self._label = label

    def __getitem__(self, name: str) -> Any:
        return self._owner.of(self._label)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._owner.of(self._label))

    def __len__(self) -> int:
        return len(self._owner.of(self._label))
