"""Source line in a PyTorch program of an operator, as exporters write it into a model's file."""

from __future__ import annotations

import ast
import re

from polycmp.graph import GraphNode

#: Keys under which `torch.onnx.export(dynamo=True)` writes the modules around an operator, and the Python stack.
NAME_SCOPES = "pkg.torch.onnx.name_scopes"
STACK_TRACE = "pkg.torch.onnx.stack_trace"
#: Name that `torch.export` writes in place of a module that it has lost: `_empty_nn_module_stack_from_metadata_hook`.
_NO_MODULE = "_empty_nn_module_stack"
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in \S+(?:\n\s*(?P<code>\S[^\n]*))?')


def source_of(node: GraphNode) -> str:
    """Return PyTorch's module and the line of source that made an operator; empty if the file does not say."""
    module, line = module_of(node), line_of(node)
    return ", ".join(part for part in (module and f"module {module}", line) if part)


def module_of(node: GraphNode) -> str:
    """Return the dotted name of the innermost module: `encoder.layer.0.attention.self.query`."""
    try:
        scopes = ast.literal_eval(node.metadata.get(NAME_SCOPES, "[]"))
    except (ValueError, SyntaxError):
        return ""
    if not isinstance(scopes, (list, tuple)):
        return ""
    # The last scope is the call itself, not a module.
    return next((str(scope) for scope in reversed(scopes[:-1]) if scope and not str(scope).startswith(_NO_MODULE)), "")


def line_of(node: GraphNode) -> str:
    """Return the innermost line of source, as `modeling_bert.py:160 (return self.dense(x))`.

    Lines that PyTorch generated itself, as `<eval_with_key>.785`, stand in no file that anybody could open.
    """
    frames = [frame for frame in _FRAME.finditer(node.metadata.get(STACK_TRACE, "")) if frame["file"][0] != "<"]
    if not frames:
        return ""
    last = frames[-1]
    name = re.split(r"[\\/]", last["file"])[-1]
    code = f" ({last['code'].strip()})" if last["code"] else ""
    return f"{name}:{last['line']}{code}"
