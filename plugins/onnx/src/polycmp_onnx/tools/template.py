"""`polycmp template onnx-gs`: a script that changes an ONNX model with ONNX GraphSurgeon."""

from __future__ import annotations

from pathlib import Path

import click

from polycmp.command import examples, with_messages
from polycmp.errors import ModelError
from polycmp.files import atomic_write, to_bytes
from polycmp.terminal import echo, visible

_SCRIPT = '''\
#!/usr/bin/env python3
"""Changes an ONNX model. It needs ONNX GraphSurgeon: pip install onnx-graphsurgeon."""

import onnx
import onnx_graphsurgeon as gs

print("Loading model: " + {path!r})
graph = gs.import_onnx(onnx.load({path!r}))

# Change `graph` here: graph.nodes, graph.inputs, graph.outputs, graph.tensors().

graph.cleanup().toposort()
changed = gs.export_onnx(graph)
changed.ir_version = max(changed.ir_version, 4)  # in earlier formats each weight has to be an input, too
onnx.save(changed, {updated!r})
print("Saved model: " + {updated!r})
'''


_HELP = "Write a Python script that changes MODEL with ONNX GraphSurgeon." + examples(
    "polycmp template onnx-gs model.onnx -o change.py"
)


@with_messages
@click.command("onnx-gs", help=_HELP)
@click.argument("model", metavar="MODEL")
@click.option("-o", "--output", required=True, metavar="FILE.py", help="File to write the script to.")
def onnx_gs(model: str, output: str) -> None:
    """Write the script, executable.

    Raises:
        ModelError: There is no such model.
        FileError: The script cannot be written.
    """
    path = Path(model)
    if not path.is_file():
        raise ModelError(f"no such model file: {model}", hint=f"ls {path.parent}")
    updated = f"{path.stem}_updated.onnx"
    text = _SCRIPT.format(path=str(path), updated=updated)
    with atomic_write(output) as file:
        file.write(to_bytes(text))
    Path(output).chmod(Path(output).stat().st_mode | 0o111)
    echo(visible(f"wrote {output}; it saves {updated}"))
