"""Names that other programs give to the tensors of a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from polycmp.graph import GraphNode

#: What converters and interpreters put around a name.
_AROUND = re.compile(r"^serving_default_|:\d+$", re.IGNORECASE)


def _spelling(name: str) -> str:
    """Return a name as programs spell it that allow letters, digits and underscores alone."""
    return re.sub(r"[^0-9A-Za-z]+", "_", _AROUND.sub("", name)).strip("_")


def _last_part(name: str) -> str:
    """Return the spelling of a name without the folders that its file lies in."""
    return _spelling(name.rpartition("/")[2])


#: Ways to read a name of a dump beside one of the model, the most certain first: what is done to either.
_READINGS: Sequence[tuple[Callable[[str], str], Callable[[str], str]]] = (
    (str, str),
    (_spelling, _spelling),
    (lambda name: _spelling(name).lower(), lambda name: _spelling(name).lower()),
    (_last_part, _spelling),
)


def pair_with_model(dumped: Iterable[str], tensors: Iterable[str]) -> dict[str, str]:
    """Return the tensors of a model that names of a dump stand for, by these; what is not certain is left out.

    Args:
        dumped: Names in the dump.
        tensors: Names in the model.
    """
    left, pairs = list(dumped), dict[str, str]()
    for of_dump, of_model in _READINGS:
        known = _unique(of_model, (name for name in tensors if name not in pairs.values()))
        there = _unique(of_dump, (name for name in left if name not in pairs))
        pairs.update({name: known[key] for key, name in there.items() if key in known})
    return pairs


def _unique(spell: Callable[[str], str], names: Iterable[str]) -> dict[str, str]:
    """Return names by their spelling, those alone that no other is spelled like."""
    spelled: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        spelled.setdefault(spell(name), []).append(name)
    return {key: found[0] for key, found in spelled.items() if key and len(found) == 1}


def operator_outputs(nodes: Iterable[GraphNode]) -> Mapping[str, str]:
    """Return what operators make by their names, those of one result alone."""
    return {node.name: node.outputs[0] for node in nodes if node.name and len(node.outputs) == 1}
