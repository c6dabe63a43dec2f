"""Commands over models of any kind: they take the options of those who read and write models, and no others."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polycmp.command import BackendCommand

if TYPE_CHECKING:
    from polycmp.plugins import Registry

#: Options of the loader `onnx` that say where a run saves the model: such a command writes it itself, or not at all.
_SAVING = frozenset({"save", "save_external_data", "external_data_size_threshold", "no_save_all_tensors_to_one_file"})


class ModelCommand(BackendCommand):
    """A command over one model that runs no backend.

    A backend's options are among its own only where a loader shares them, as that of TensorRT engines does.

    Args:
        name: As for `BackendCommand`.
        run: As for `BackendCommand`.
        kwargs: As for `BackendCommand`.
    """

    def __init__(self, name: str, run: Any, **kwargs: Any) -> None:
        super().__init__(name, run, plugins=("runner", "loader", "data_loader"), unfolded=("loader",), **kwargs)

    def table_of(self, registry: Registry) -> Any:
        """Return its options."""
        table = super().table_of(registry)
        sharing = {tools.options_of for _, tools in registry.equipped(registry.loaders.values()) if tools.options_of}
        targets = {key: target for key, target in table.targets.items() if self._takes(key, sharing)}
        shown: Collection[str] = {target.section for target in targets.values()}
        return replace(
            table,
            targets=targets,
            by_flag={flag: target for flag, target in table.by_flag.items() if target.key in targets},
            backends={},
            sections={heading: text for heading, text in table.sections.items() if heading in shown},
        )

    def _takes(self, key: Any, sharing: Collection[str]) -> bool:
        if key.kind == "runner":
            return key.owner in sharing
        return not (key.kind == "loader" and key.owner == "onnx" and key.field in _SAVING)
