"""Judgements stored on the disk during a search, so that an interrupted one can continue."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.files import atomic_write, digest_of, make_folder, to_bytes
from polycmp.plan import to_values
from polycmp_bisect.environments.cache import cache_folder, digest
from polycmp_bisect.search import Judgement

if TYPE_CHECKING:
    from polycmp.plan import Plan
    from polycmp.plugins import Registry
    from polycmp_bisect.judging import Judge

_SCHEMA = 1


class JudgementStore:
    """The judgements of one search, in a file named after all that they depend on.

    Args:
        plan: The run that judges.
        registry: The plugins.
        further: Everything else that the search depends on, in plain values.
        resume: Whether to go on with what an earlier call has judged.
    """

    def __init__(self, plan: Plan, registry: Registry, further: Mapping[str, Any], *, resume: bool) -> None:
        files = sorted({plan.model, *(item.model for item in plan.backends), *plan.data.files} - {""})
        asked = (json.dumps(to_values(plan, registry), sort_keys=True, default=str), sorted(further.items()))
        name = digest(asked, [_content(Path(path)) for path in files])
        self._path = cache_folder() / "bisect" / f"{name}.json"
        self._known: dict[str, list[dict[str, Any]]] = {}
        if resume:
            self._read()
        else:
            self.discard()

    def __len__(self) -> int:
        return len(self._known)

    def judged(self, name: str, look: int, judge: Judge, make: Callable[[], Judgement]) -> Judgement:
        """Return the judgement of a candidate at a look: the one that is kept, else a new one, which is kept.

        Args:
            name: The candidate.
            look: Which look at it this is, from 0.
            judge: Is told of a judgement that is kept.
            make: Makes a new one.
        """
        looks = self._known.get(name, [])
        if look < len(looks):
            known = Judgement(**looks[look])
            judge.note(known)
            return known
        judgement = make()
        self._put(name, judgement)
        return judgement

    def _put(self, name: str, judgement: Judgement) -> None:
        self._known.setdefault(name, []).append(dataclasses.asdict(judgement))
        make_folder(self._path.parent)
        with atomic_write(self._path) as file:
            file.write(to_bytes(json.dumps({"schema": _SCHEMA, "judged": self._known}, indent=1) + "\n"))

    def discard(self) -> None:
        """Forget everything: the search has come to its end, or begins anew."""
        with suppress(OSError):
            self._path.unlink()

    def _read(self) -> None:
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            document = json.loads(self._path.read_text("utf-8"))
            if document["schema"] == _SCHEMA:
                known = {name: [Judgement(**item) for item in looks] for name, looks in document["judged"].items()}
                self._known = {name: [dataclasses.asdict(item) for item in looks] for name, looks in known.items()}


def _content(path: Path) -> str:
    """Return a digest of a file's content, or the path where there is no file."""
    return digest_of(path) if path.is_file() else str(path)
