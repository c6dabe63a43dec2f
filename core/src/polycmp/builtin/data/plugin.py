"""Contributions of this package. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import CommandSpec, hookimpl

_DATA = "Combine input and output files; make inputs from images and arrays."
_INSPECT = "Show what is in a model, or in a file of inputs or outputs."
_COMMANDS = (
    ("compare", "Compare saved outputs.", "compare:compare_command", ""),
    ("inspect data", "Show the tensors in a file of inputs or outputs.", "show:inspect_command", _INSPECT),
    ("data concat", "Append the iterations of several files.", "join:concat_command", _DATA),
    ("data merge", "Put the tensors of several files together.", "join:merge_command", _DATA),
    ("data from-images", "Make inputs from images.", "make:images_command", _DATA),
    ("data from-numpy", "Make inputs from NumPy files.", "make:numpy_command", _DATA),
)


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute the commands."""
    for words, summary, target, group in _COMMANDS:
        purpose = "compare" if words == "compare" else "files"
        yield CommandSpec(tuple(words.split()), summary, f"polycmp.builtin.data.{target}", group, purpose=purpose)
    yield CommandSpec(
        ("data", "to-input"), "Former name of `data merge`.", "polycmp.builtin.data.join:to_input_command", hidden=True
    )
