"""Outputs of a framework's modules, recorded by hooks, and the tensors that an exporter made of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from polycmp.graph import GraphNode
from polycmp_locate.pairing.result import Match
from polycmp_locate.pairing.source import module_of

#: Method by which such a tensor is matched.
MODULE = "module"


def pair_modules(nodes: Sequence[GraphNode], recorded: Iterable[str]) -> tuple[Match, ...]:
    """Return for recorded outputs of modules the last tensor that the module's operators give to others.

    Args:
        nodes: The model's operators in their order; exporters write the module into their names, or beside them.
        recorded: Names of modules: `encoder.layer.0.attention`.
    """
    matches = []
    module_names = {_tokens(name): name for name in recorded if re.search(r"[A-Za-z]", name)}
    readers: dict[str, list[int]] = {}
    for index, node in enumerate(nodes):
        for name in node.inputs:
            readers.setdefault(name, []).append(index)
    paths = [_path(node) for node in nodes]
    for tokens, name in module_names.items():
        inside = [index for index, path in enumerate(paths) if _is_inside(tokens, path)]
        if not inside:
            continue
        last, within = nodes[inside[-1]], set(inside)
        outputs = [out for out in last.outputs if out not in readers or not within.issuperset(readers[out])]
        if len(outputs) == 1:
            matches.append(Match(outputs[0], name, MODULE))
    return tuple(matches)


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(part for part in re.split(r"[./]", text) if part)


def path_of(node: GraphNode, *names: str) -> tuple[str, ...]:
    """Return the modules around an operator, the outermost first, as `("encoder", "layer.0")`; empty if unknown.

    Args:
        node: The operator.
        names: Further names that may have a path, such as those of what it makes.
    """
    paths = (_path(node), *(_tokens(name.rpartition("/")[0]) for name in names))
    modules: list[str] = []
    for part in next(filter(None, paths), ()):
        if part.isdigit() and modules:
            modules[-1] += f".{part}"
        else:
            modules.append(part)
    return tuple(modules)


def _path(node: GraphNode) -> tuple[str, ...]:
    """Return the parts of the modules' names around an operator, the outermost first."""
    module = module_of(node)
    if module:
        return _tokens(module)
    return _tokens(node.name.rpartition("/")[0])


def _is_inside(module: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Return whether a module is one of those around an operator; exporters may put a wrapper's name in front."""
    return any(path[start : start + len(module)] == module for start in range(min(2, len(path))))
