"""Loaders of PyTorch modules from files, scripts and ONNX models."""

from __future__ import annotations

import inspect as python_inspect
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from polycmp.errors import BackendError, ModelError, PluginError, describe_exception
from polycmp.loader import Loader, load_script, resolve
from polycmp.options import split_script
from polycmp.tensors import TensorMetadata, as_dtype, dtype_of

#: Types of single numbers in TorchScript.
_SINGLE = {"int": "int64", "float": "float32", "bool": "bool"}
#: Endings of the files that PyTorch writes itself.
SAVED = (".pt2", ".pt", ".ts", ".torchscript", ".jit")


def import_torch() -> Any:
    """Return the module `torch`.

    Raises:
        PluginError: It is not installed, or cannot be loaded here.
    """
    try:
        import torch
    except ImportError as error:
        raise PluginError(
            "needs PyTorch, which is not installed here",
            whose="torch",
            why=str(error),
            hint="pip install 'polycmp-torch[torch]'",
        ) from error
    return torch


@dataclass(frozen=True)
class TorchModel:
    """A module and how it is called.

    Attributes:
        module: Anything that can be called with tensors.
        inputs: Inputs of the module in the order of its arguments.
        outputs: Names for the tensors it returns, in their order; empty for their places in what it returns.
        keywords: Names of the inputs that it takes by keyword.
        types: Element types that outputs are declared to have, by name.
        note: Remark for readers of a report; empty for none.
    """

    module: Any
    inputs: TensorMetadata
    outputs: tuple[str, ...] = ()
    keywords: frozenset[str] = frozenset()
    types: Mapping[str, Any] | None = None
    note: str = ""


class TorchFromFile(Loader[TorchModel]):
    """Reads an exported program (`.pt2`) or TorchScript.

    Args:
        path: The file.
    """

    model_kind = "torch"

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)

    def call_impl(self) -> TorchModel:
        """Return the module.

        Raises:
            ModelError: The file is missing, or neither an exported program nor TorchScript.
        """
        torch = import_torch()
        if not Path(self.path).is_file():
            raise ModelError(f"there is no file {self.path}", whose="torch", hint=f"ls -l {Path(self.path).parent}")
        if Path(self.path).suffix == ".pt2":
            return self._exported(torch)
        try:
            module = torch.jit.load(self.path, map_location="cpu")
        except Exception as error:
            raise ModelError(
                f"{self.path} is not TorchScript",
                whose="torch",
                why=describe_exception(error),
                hint="a file of torch.save needs a script that makes the module: --model-type torch FILE.py:NAME",
            ) from error
        arguments = module.forward.schema.arguments[1:]
        inputs = _unknown([argument.name for argument in arguments])
        for argument in arguments:
            if str(argument.type) in _SINGLE:  # TorchScript takes a tensor without dimensions for a number
                inputs.add(argument.name, as_dtype(_SINGLE[str(argument.type)]), ())
        module.eval()
        return TorchModel(module, inputs)

    def _exported(self, torch: Any) -> TorchModel:
        if not is_zipfile(self.path):  # PyTorch would log a trace besides raising an error
            raise ModelError(f"{self.path} is not an exported program", whose="torch", why="it is no zip archive")
        try:
            program = torch.export.load(self.path)
        except Exception as error:
            raise ModelError(
                f"{self.path} is not an exported program", whose="torch", why=describe_exception(error)
            ) from error
        nodes = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
        inputs = TensorMetadata()
        for name in program.graph_signature.user_inputs:
            value: Any = nodes.get(str(name))
            if not hasattr(value, "dtype"):
                inputs.add(str(name), None, None)
                continue
            shape = [dim if isinstance(dim, int) else str(dim) for dim in value.shape]
            inputs.add(str(name), dtype_of(value), shape)
        example_inputs = program.example_inputs
        keywords = frozenset(example_inputs[1]) if example_inputs and example_inputs[1] else frozenset()
        outputs = tuple(str(name) for name in program.graph_signature.user_outputs)
        return TorchModel(program.module(), inputs, outputs, keywords)


class TorchFromScript(Loader[TorchModel]):
    """Makes a module with a user's script.

    Args:
        script: An exported program, TorchScript, or `FILE.py[:NAME]`: a module, a class, or a function without
            arguments that returns a module, or a tuple of a module and example inputs (a mapping by name, or a
            sequence); by default `load_model`.
        like: A loader of the ONNX model whose names and types of inputs and outputs are taken; None for the module's.
    """

    model_kind = "torch"

    def __init__(self, script: str, like: Loader[Any] | None = None) -> None:
        self.script = script
        self.like = like

    def call_impl(self) -> TorchModel:
        """Return the module.

        Raises:
            DataError: The file or the name is missing, or the file fails to import.
            ModelError: The script returns something that is no module.
        """
        torch = import_torch()
        path, name = split_script(self.script, "load_model")
        if Path(path).suffix in SAVED:
            saved = TorchFromFile(path)()
            return saved if self.like is None else _saved_as_onnx(saved, self.like)
        result = load_script(path, name)
        if isinstance(result, type) or (callable(result) and not isinstance(result, torch.nn.Module)):
            try:
                result = result()
            except Exception as error:
                raise ModelError(f"{name} in {path} failed", whose="torch", why=describe_exception(error)) from error
        module, example = result if isinstance(result, tuple) and len(result) == 2 else (result, None)
        if not callable(module):
            raise ModelError(f"{name} in {path} gives {type(module).__name__}, not a module", whose="torch")
        note = ""
        if getattr(module, "training", False):
            module.eval()
            note = "the module was in training mode; it ran in evaluation mode"
        if self.like is not None:
            return _named_by_onnx(module, self.like, note)
        inputs = _inputs_of(module, example)
        return TorchModel(module, inputs, keywords=_by_keyword(module, inputs), note=note)


class TorchFromOnnx(Loader[TorchModel]):
    """Converts an ONNX model with the package onnx2pytorch.

    Args:
        model: A path, an `onnx.ModelProto`, or a callable that returns one.
    """

    model_kind = "torch"

    def __init__(self, model: Any) -> None:
        self.model = model

    def call_impl(self) -> TorchModel:
        """Return the module.

        Raises:
            PluginError: The converter is not installed.
            BackendError: It cannot convert the model.
            ModelError: The model cannot be read.
        """
        onnx2pytorch = _import_onnx2pytorch(import_torch())
        model = self._onnx()
        try:
            with warnings.catch_warnings(record=True) as approximations:
                warnings.simplefilter("always")
                module = onnx2pytorch.ConvertModel(model)
        except Exception as error:
            raise BackendError(
                "onnx2pytorch cannot convert the model",
                whose="torch",
                why=describe_exception(error),
                hint="run the module itself: -b torch:script=FILE.py",
            ) from error
        module.eval()
        messages = dict.fromkeys(str(warning.message) for warning in approximations)
        return _with_names(module, model, f"onnx2pytorch: {'; '.join(messages)}" if messages else "")

    def _onnx(self) -> Any:
        from polycmp_onnx import onnx_from_path

        if isinstance(self.model, (str, os.PathLike)):
            return onnx_from_path(os.fspath(self.model))
        return resolve(self.model)


def _import_onnx2pytorch(torch: Any) -> Any:
    """Return the module `onnx2pytorch`, which imports torchvision for one operator, NonMaxSuppression.

    Torchvision of another build than PyTorch's (CUDA beside CPU) cannot be imported, because it describes operators
    that its compiled part was to bring. With these declared it can; NonMaxSuppression then fails with torchvision's
    own words when it runs.

    Raises:
        PluginError: It is not installed, or does not go with this PyTorch.
    """
    try:
        try:
            import torchvision  # noqa: F401
        except RuntimeError:
            for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
                del sys.modules[name]  # what was imported before the error
            for name in ("nms", "qnms"):
                torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou) -> Tensor")
        import onnx2pytorch
    except (ImportError, RuntimeError) as error:
        raise PluginError(
            "needs the package onnx2pytorch to run ONNX models",
            whose="torch",
            why=str(error),
            hint="pip install 'polycmp-torch[onnx]' (Python 3.11), or run the module itself: -b torch:script=FILE.py",
        ) from error
    return onnx2pytorch


def make_loader(source: str, options: None) -> Loader[TorchModel]:
    """Return the loader for a file of the command line.

    Args:
        source: The file; a Python file may name what it makes after a colon.
        options: There are none.
    """
    is_script = split_script(source, "")[0].endswith(".py")
    return TorchFromScript(source) if is_script else TorchFromFile(source)


def inspect(loader: Callable[[], TorchModel], show: Any) -> str:
    """Return a module as text: its inputs, and its code where it has any.

    Args:
        loader: Makes the module.
        show: Not used.
    """
    model = loader()
    lines = ["PyTorch module", "inputs:", *(f"  {name}: {entry}" for name, entry in model.inputs.items())]
    lines += ["outputs:", *(f"  {name}" for name in model.outputs)] if model.outputs else []
    code = getattr(model.module, "code", None)
    return "\n".join([*lines, code.strip() if isinstance(code, str) else str(model.module)])


def _with_names(module: Any, model: Any, note: str = "", keywords: bool = False) -> TorchModel:
    from polycmp_onnx.graph import graph_inputs, tensor_metadata

    inputs, outputs = tensor_metadata(graph_inputs(model.graph)), tensor_metadata(model.graph.output)
    types = {name: entry.dtype for name, entry in outputs.items()}
    named = _by_keyword(module, inputs) if keywords else frozenset()
    return TorchModel(module, inputs, tuple(outputs), named, types, note)


def _named_by_onnx(module: Any, like: Loader[Any], note: str) -> TorchModel:
    from polycmp_onnx.load import structure_from_path

    path = like.exact_file()
    return _with_names(module, like() if path is None else structure_from_path(path), note, keywords=True)


def _saved_as_onnx(saved: TorchModel, like: Loader[Any]) -> TorchModel:
    """Return a saved module with the names of an ONNX model and the file's order of arguments."""
    named = _named_by_onnx(saved.module, like, "")
    if set(named.inputs) != set(saved.inputs):
        return replace(named, keywords=frozenset())
    inputs = TensorMetadata({name: named.inputs[name] for name in saved.inputs})
    return replace(named, inputs=inputs, keywords=saved.keywords)


def _inputs_of(module: Any, example: Any) -> TensorMetadata:
    names = _parameters(module)
    if isinstance(example, Mapping):
        return TensorMetadata.from_feed_dict(example)
    if example is not None:
        example_inputs = example if isinstance(example, (tuple, list)) else (example,)
        return TensorMetadata.from_feed_dict(dict(zip(names, example_inputs, strict=False)))
    return _unknown(names)


def _parameters(module: Any) -> list[str]:
    """Return the names of a module's required arguments."""
    signature = python_inspect.signature(getattr(module, "forward", module))
    required = (item for item in signature.parameters.values() if item.default is item.empty)
    return [item.name for item in required if item.kind in {item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY}]


def _by_keyword(module: Any, inputs: TensorMetadata) -> frozenset[str]:
    """Return all inputs if each is the name of an argument; none if they are positional."""
    try:
        parameters = python_inspect.signature(getattr(module, "forward", module)).parameters
    except (TypeError, ValueError):  # a compiled method does not say what it takes
        return frozenset()
    open_ended = any(item.kind is item.VAR_KEYWORD for item in parameters.values())
    return frozenset(inputs) if open_ended or set(inputs) <= set(parameters) else frozenset()


def _unknown(names: list[str]) -> TensorMetadata:
    metadata = TensorMetadata()
    for name in names:
        metadata.add(name, None, None)
    return metadata
