"""Search for the tensors inside a model that a backend can show, where it cannot show all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from polycmp.tensors import TensorMetadata, is_floating

#: Attempts after which the rest counts as what cannot be shown; by count and not by time, so that a busy machine shows
#: the same. Of a backend that compiles each is the build of an engine.
MOST_ATTEMPTS = 48
MOST_BUILDS = 8


def largest_working(
    works: Callable[[Sequence[str]], bool],
    needed: Sequence[str],
    likely: Sequence[str],
    unlikely: Sequence[str],
    most: int = MOST_ATTEMPTS,
) -> list[str] | None:
    """Return a set of tensors that a backend can give out, as large as few attempts find; None if not even `needed`.

    Called after all of them together have failed. The set returned is that of the last attempt that worked.

    Args:
        works: Tries a set of tensors.
        needed: Tensors that must be in the set.
        likely: Tensors that the backend can probably give out.
        unlikely: Tensors that it probably cannot give out; left out if the rest works without them.
        most: Attempts after which the rest counts as what cannot be shown.
    """
    if likely and unlikely and works([*needed, *likely]):
        return [*needed, *likely]
    if needed and not works(needed):
        return None
    attempts = 1
    shown = list(needed)
    chunks = _halves(list(likely))
    while chunks and attempts < most:
        chunk = chunks.pop(0)
        attempts += 1
        if works([*shown, *chunk]):
            shown += chunk
        else:
            chunks = _halves(chunk) + chunks
    return shown


def _halves(names: list[str]) -> list[list[str]]:
    """Return two halves; nothing of a single name, which has failed already."""
    middle = len(names) // 2
    return [names[:middle], names[middle:]] if middle else []


def real_numbers(names: Iterable[str], types: TensorMetadata) -> list[str]:
    """Return those of some tensors that may hold real numbers, as far as their types are known."""
    kinds = {name: types[name].dtype if name in types else None for name in names}
    return [name for name, kind in kinds.items() if kind is None or is_floating(kind)]


def a_few(names: Iterable[str]) -> str:
    """Return the first names as text, with a sign that there are more."""
    shown = list(names)
    return ", ".join(map(repr, shown[:3])) + (", …" if len(shown) > 3 else "")
