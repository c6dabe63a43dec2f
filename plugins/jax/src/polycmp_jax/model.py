"""Loaders of JAX's functions, from files of jax.export and from scripts."""

from __future__ import annotations

import inspect as python_inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polycmp.errors import ModelError, PluginError, describe_exception
from polycmp.loader import Loader, load_script
from polycmp.options import split_script
from polycmp.tensors import TensorMetadata

#: The first bytes of a file of MLIR's bytecode.
_MLIR = b"ML\xefR"


def import_jax() -> Any:
    """Return the module `jax`.

    Raises:
        PluginError: It is not installed, or cannot be loaded here.
    """
    try:
        import jax
    except ImportError as error:
        raise PluginError(
            "needs JAX, which is not installed here", whose="jax", why=str(error), hint="pip install 'polycmp-jax[jax]'"
        ) from error
    return jax


@dataclass(frozen=True)
class JaxModel:
    """A function and how it is called.

    Attributes:
        call: Called with the arrays of all inputs, in their order; returns arrays in lists, mappings and the like.
        inputs: Names, types and shapes of the inputs.
        outputs: Names of the arrays that it returns, in their order; empty for their places in what it returns.
        is_64_bit: Whether it calculates in 64 bits, whatever the options say.
        text: The program in StableHLO; empty of a function that is compiled when it is called.
    """

    call: Callable[..., Any]
    inputs: TensorMetadata
    outputs: tuple[str, ...] = ()
    is_64_bit: bool = False
    text: str = ""


class JaxFromFile(Loader[JaxModel]):
    """Reads what `jax.export.export(…)(…).serialize()` returned.

    Args:
        path: The file.
    """

    model_kind = "jax"

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)

    def call_impl(self) -> JaxModel:
        """Return the program.

        Raises:
            ModelError: The file is missing, or holds something else.
        """
        jax = import_jax()
        from jax import export

        if not Path(self.path).is_file():
            raise ModelError(f"there is no file {self.path}", whose="jax", hint=f"ls -l {Path(self.path).parent}")
        content = Path(self.path).read_bytes()
        if content.startswith(_MLIR) or content[:64].lstrip().startswith(b"module"):
            raise ModelError(
                f"{self.path} is StableHLO alone",
                whose="jax",
                why="it does not say how JAX calls it",
                hint="write bytes(jax.export.export(jax.jit(f))(*examples).serialize()) into the file",
            )
        try:
            program = export.deserialize(bytearray(content))
        except Exception as error:  # whatever its parser stumbles over
            raise ModelError(
                f"{self.path} is no program of jax.export", whose="jax", why=describe_exception(error)
            ) from error
        numbers = jax.tree_util.tree_unflatten(program.in_tree, range(len(program.in_avals)))
        inputs = TensorMetadata()
        for name, number in _named_inputs(jax, *numbers):
            aval = program.in_avals[number]
            inputs.add(name, aval.dtype, [size if isinstance(size, int) else str(size) for size in aval.shape])

        def call(*arrays: Any) -> Any:
            places, keywords = jax.tree_util.tree_unflatten(program.in_tree, arrays)
            return program.call(*places, **keywords)

        wide = any(aval.dtype.itemsize == 8 for aval in (*program.in_avals, *program.out_avals))
        return JaxModel(call, inputs, is_64_bit=wide, text=program.mlir_module())


class JaxFromScript(Loader[JaxModel]):
    """Takes a function from a user's script.

    Args:
        script: `FILE.py[:NAME]`: a function of arrays, or one without arguments that returns such a function, or a
            tuple of it and example inputs (a mapping by name, or a sequence); by default `load_model`. Or a program
            of jax.export.
        like: A loader of the ONNX model whose names and types of inputs and outputs are taken; None for the function's.
    """

    model_kind = "jax"

    def __init__(self, script: str, like: Loader[Any] | None = None) -> None:
        self.script = script
        self.like = like

    def call_impl(self) -> JaxModel:
        """Return the function.

        Raises:
            DataError: The file or the name is missing, or the file fails to import.
            ModelError: The script gives something that cannot be called, or the ONNX model has other inputs.
        """
        import_jax()
        path, name = split_script(self.script, "load_model")
        model = self._from_script(path, name) if path.endswith(".py") else JaxFromFile(path)()
        return model if self.like is None else _as_onnx(model, self.like)

    def _from_script(self, path: str, name: str) -> JaxModel:
        result = load_script(path, name)
        if callable(result) and not _parameters(result):
            try:
                result = result()
            except Exception as error:
                raise ModelError(f"{name} in {path} failed", whose="jax", why=describe_exception(error)) from error
        function, example = result if isinstance(result, tuple) and len(result) == 2 else (result, None)
        if not callable(function):
            raise ModelError(f"{name} in {path} gives {type(function).__name__}, not a function", whose="jax")
        return JaxModel(function, _inputs_of(function, example))


def make_loader(source: str, options: None) -> Loader[JaxModel]:
    """Return the loader for a file of the command line.

    Args:
        source: The file; a Python file may name a function after a colon.
        options: There are none.
    """
    is_script = split_script(source, "")[0].endswith(".py")
    return JaxFromScript(source) if is_script else JaxFromFile(source)


def inspect(loader: Loader[JaxModel]) -> str:
    """Return a program as text: its inputs, and its StableHLO where it is exported.

    Args:
        loader: Makes the program.
    """
    model = loader()
    lines = ["JAX program", "inputs:", *(f"  {name}: {entry}" for name, entry in model.inputs.items())]
    return "\n".join([*lines, model.text] if model.text else lines)


def named_leaves(jax: Any, value: Any, prefix: str) -> list[tuple[str, Any]]:
    """Return the arrays in a value, each with its place: `output`, `output_1`, `past.0.key`.

    Args:
        jax: The module `jax`.
        value: An array, or containers of arrays.
        prefix: What a name begins with that would be a number, or empty.
    """
    leaves, _ = jax.tree_util.tree_flatten_with_path(value)
    named = ((jax.tree_util.keystr(path, simple=True, separator="."), leaf) for path, leaf in leaves)
    return [(f"{prefix}_{name}" if name[:1].isdigit() else name or prefix, leaf) for name, leaf in named]


def _named_inputs(jax: Any, places: tuple[Any, ...], keywords: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    return [*named_leaves(jax, places, "input"), *named_leaves(jax, keywords, "input")]


def _as_onnx(model: JaxModel, like: Loader[Any]) -> JaxModel:
    """Return a function with the names of an ONNX model, whose inputs it takes in their order or by their names."""
    from polycmp_onnx.graph import graph_inputs, tensor_metadata

    graph = like().graph
    inputs, outputs = tensor_metadata(graph_inputs(graph)), tuple(tensor_metadata(graph.output))
    if len(inputs) != len(model.inputs):
        raise ModelError(
            f"the function takes {len(model.inputs)} arrays, the model has {len(inputs)} inputs",
            whose="jax",
            why=f"{', '.join(model.inputs)} beside {', '.join(inputs)}",
            hint="give a function of exactly the model's inputs",
        )
    if set(inputs) == set(model.inputs):
        inputs = TensorMetadata({name: inputs[name] for name in model.inputs})
    return replace(model, inputs=inputs, outputs=outputs)


def _inputs_of(function: Any, example: Any) -> TensorMetadata:
    names = _parameters(function)
    if isinstance(example, Mapping):
        example = [example[name] for name in names if name in example]
    if example is None:
        example = [None] * len(names)
    inputs = TensorMetadata()
    for name, value in zip(names, example if isinstance(example, (tuple, list)) else [example], strict=False):
        inputs.add(name, getattr(value, "dtype", None), getattr(value, "shape", None))
    return inputs


def _parameters(function: Any) -> list[str]:
    """Return the names of a function's required arguments by place."""
    try:
        parameters = python_inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    required = (item for item in parameters if item.default is item.empty)
    return [item.name for item in required if item.kind in {item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD}]
