"""Identity of a model in reports: its file's digest and size, and the facts that its loader reads: the opset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import ModelError, OthersCode, PolycmpError
from polycmp.files import digest_of

if TYPE_CHECKING:
    from polycmp.plugins import Registry

__all__ = ["Identity", "identify"]


@dataclass(frozen=True)
class Identity:
    """Identity of a model.

    Attributes:
        sha256: The digest of its file.
        size: The file's size in bytes.
        facts: Further facts from its loader, by name: `opset`.
    """

    sha256: str
    size: int
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """All of it in a few words."""
        return ", ".join(
            (f"sha256 {self.sha256[:12]}", *(f"{name} {value}" for name, value in self.facts.items()), _size(self.size))
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"sha256": self.sha256, "size": self.size, **self.facts}


def _size(size: int) -> str:
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} B"


def identify(models: Iterable[str], registry: Registry, folder: Path | None = None) -> dict[str, Identity]:
    """Identify models, by their paths; those that are no files are left out.

    Args:
        models: Their paths.
        registry: The plugins, whose loaders say more of the models of their kinds.
        folder: Folder that relative paths are relative to; by default the current folder.
    """
    identities = {}
    for model in dict.fromkeys(models):
        path = (folder or Path()) / model
        with suppress(OSError):
            if model and path.is_file():
                identities[model] = Identity(digest_of(path), path.stat().st_size, _facts(path, registry))
    return identities


def _facts(path: Path, registry: Registry) -> Mapping[str, Any]:
    """Read facts of a file with its loader; empty where none reads it, or several do."""
    loaders = [item for item in registry.loaders.values() if item.spec.reads(path)]
    if len(loaders) != 1:
        return {}
    try:
        with OthersCode(ModelError, "cannot be read", whose=str(path)):
            return dict(registry.tools(loaders[0]).facts(str(path)))
    except PolycmpError:
        return {}
