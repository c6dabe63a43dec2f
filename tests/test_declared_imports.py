"""Each distribution declares what its code imports, at the top of a module or late, as a dependency or in an extra."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent


#: Distributions that are not called as the module that they bring.
DISTRIBUTIONS = {
    "PIL": "pillow", "cuda": "cuda-bindings", "google": "protobuf", "grpc": "grpcio", "iree": "iree-base-compiler",
    "tensorrt": "tensorrt-cu12", "tvm": "apache-tvm", "yaml": "pyyaml",
}  # fmt: skip

#: Folder of a distribution and module: why it imports what it does not declare.
NOT_DECLARED = {
    ("core", "torch"): "a tensor is PyTorch's already, or the user asks for PyTorch and is told what to install",
    ("core", "onnx"): "the conformance kit makes models of single operators for backends that read ONNX",
    ("core", "IPython"): "only in the kernel of a notebook, which has imported it",
    ("mnn", "_tools"): "the converter, a top-level module of the distribution MNN: MNN.tools, in front of it, runs pip",
    ("onnx", "onnxruntime"): "two distributions bring it, for CPU and for GPU; without it there is another way",
    ("trt", "onnxruntime"): "two distributions bring it, for CPU and for GPU; the error says what to install",
    ("trt", "pycuda"): "in place of cuda-bindings, which the extras bring",
    ("polygraphy", "torch"): "a program asks for PyTorch's name of an element type",
    ("polygraphy", "tensorrt"): "a program asks for TensorRT's name of an element type",
    ("torch", "torchvision"): "required by onnx2pytorch, which the extra brings, and imported before it",
}


def distribution(folder: Path) -> tuple[str, set[str]]:
    """Return the name of a distribution, and those of all that it declares, normalised."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project.get("optional-dependencies", {})
    lines = [*project["dependencies"], *(line for extra in extras.values() for line in extra)]
    return normalised(project["name"]), {normalised(re.match(r"[\w.-]+", line)[0]) for line in lines}


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imported(path: Path) -> Iterator[str]:
    """Yield the full names of the modules that a file imports when it runs, not those for type checkers alone."""
    for node in executed(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""
        elif isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)) and node.args:
            called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if called in {"import_module", "importorskip"} and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)


def executed(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a syntax tree, from above, but for the bodies of `if TYPE_CHECKING:`."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for_checkers = isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
        waiting += reversed(node.orelse if for_checkers else list(ast.iter_child_nodes(node)))


#: The standard library's modules; of Python 3.10 `_toml` takes one that is no part of it.
STANDARD = {*sys.stdlib_module_names, "tomllib"}


def undeclared(folder: Path) -> dict[str, str]:
    """Return what a distribution imports and does not declare, each with a file that does."""
    name, declared = distribution(folder)
    found = {}
    for path in sorted((folder / "src").rglob("*.py")):
        for module in imported(path):
            top = module.partition(".")[0]
            if top not in STANDARD and DISTRIBUTIONS.get(top, normalised(top)) not in {name, *declared}:
                found[top] = str(path.relative_to(ROOT))
    return found


@pytest.mark.parametrize("folder", [ROOT / "core", *sorted((ROOT / "plugins").iterdir())], ids=lambda path: path.name)
def test_what_is_imported_is_declared(folder):
    excused = {module for name, module in NOT_DECLARED if name == folder.name}
    lacking = undeclared(folder)
    assert {module: path for module, path in lacking.items() if module not in excused} == {}
    assert excused <= lacking.keys(), "declared, or imported no more: it needs no excuse"


def test_imports_of_functions_count_and_those_of_type_checkers_do_not(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        "import one\nif TYPE_CHECKING:\n    import two\nelse:\n    import three\n"
        "def f():\n    from four.five import six\n    import_module('seven.eight')\n"
    )
    assert list(imported(path)) == ["one", "three", "four.five", "seven.eight"]
