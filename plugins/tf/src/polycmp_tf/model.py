"""The loader of TensorFlow's files: each becomes something that takes arrays and returns arrays, by name."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from polycmp.errors import ModelError, PluginError, UsageError, describe_exception, did_you_mean
from polycmp.loader import Loader
from polycmp.runner import overflow_remark
from polycmp.tensors import TensorMetadata
from polycmp_tf.files import SAVED_MODEL, saved_model_of
from polycmp_tf.float64 import in_float64
from polycmp_tf.functions import frozen, imported, nodes_of
from polycmp_tf.left_open import find_left_open
from polycmp_tf.lite import LiteModel, read_part
from polycmp_tf.plugin import Options

#: Node types that no one reads in a graph and that are no outputs all the same.
_NO_OUTPUTS = {"NoOp", "Const", "Placeholder", "Assert"}


def import_tensorflow() -> Any:
    """Return the module `tensorflow`.

    Raises:
        PluginError: It is not installed, or cannot be loaded here.
    """
    try:
        with _without_remarks():
            import tensorflow
    except ImportError as error:
        raise PluginError(
            "needs TensorFlow, which is not installed here",
            whose="tf",
            why=str(error),
            hint="pip install 'polycmp-tf[tf]', or [lite] for .tflite files alone",
        ) from error
    return tensorflow


@contextmanager
def _without_remarks() -> Iterator[None]:
    """Silence TensorFlow's remarks on the CPU and on missing GPUs while it is imported."""
    name = "TF_CPP_MIN_LOG_LEVEL"
    if "tensorflow" in sys.modules or name in os.environ:
        yield
        return
    os.environ[name] = "2"
    try:
        yield
    finally:
        del os.environ[name]


class GraphModel:
    """A concrete function of TensorFlow.

    Args:
        tf: The module `tensorflow`.
        function: Takes tensors by name, returns tensors by name.
        inputs: Inputs of the function.
        outputs: Outputs of the function.
        graph: The function's graph, for TensorBoard; None if it has none.
        keep: Objects that have to live as long as the function.
        left_open: Tells of a feed which results are left open; None where none can be.
        assigned: Variables of a function that assigns some.
        in_float64: Makes the outputs of a feed in float64; None where nothing does.

    Attributes:
        inputs: Inputs of the function.
        outputs: Outputs of the function.
        version: TensorFlow's version.
        notes: What readers should know of it, in part of what it was fed first.
    """

    def __init__(
        self,
        tf: Any,
        function: Any,
        inputs: TensorMetadata,
        outputs: TensorMetadata,
        graph: Any,
        keep: Any = None,
        left_open: Callable[[Mapping[str, Any]], list[str]] | None = None,
        assigned: Sequence[Any] = (),
        in_float64: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
    ) -> None:
        self._tf = tf
        self._assigned = assigned
        self._in_float64 = in_float64
        self._function = function
        self.notes: list[str] = []
        self._left_open = left_open
        self._keep = keep  # a SavedModel's variables live as long as the object that was loaded
        self.inputs = inputs
        self.outputs = outputs
        self.graph = graph
        self.version = str(tf.__version__)

    def run(self, feed: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs for one feed."""
        if self._left_open is not None:
            self.notes += self._left_open(feed)
            self._left_open = None
        constants = {name: self._tf.constant(array) for name, array in feed.items()}
        before = [variable.numpy() for variable in self._assigned]
        outputs = {name: tensor.numpy() for name, tensor in self._function(constants).items()}
        changed = [
            variable.name.partition(":")[0]
            for variable, value in zip(self._assigned, before, strict=True)
            if not np.array_equal(variable.numpy(), value)
        ]
        if changed:
            kept = ", ".join(repr(name) for name in dict.fromkeys(changed))
            self.notes.append(
                f"the model keeps {kept} from one call to the next: it may answer otherwise to the same inputs, which "
                "a file without state cannot"
            )
        self._assigned = ()
        if self._in_float64 is not None:
            remark = overflow_remark(
                map(np.asarray, feed.values()),
                outputs,
                partial(self._in_float64, feed),
                "XLA leaves out what it simplifies, as of log(exp(x))",
            )
            if remark is not None:  # it has been asked
                self.notes += [remark] if remark else []
                self._in_float64 = None
        return outputs


def _assigned_in(concrete: Any) -> Sequence[Any]:
    """Return the variables of a function that assigns some; none of all others."""
    return concrete.graph.variables if any(node.op.startswith("Assign") for node in nodes_of(concrete)) else ()


class TfFromFile(Loader[Any]):
    """Reads a model of TensorFlow.

    Args:
        path: A folder with a SavedModel or the `saved_model.pb` in it, a Keras file, a frozen graph or a `.tflite`.
        options: Signature, outputs, compilation and what is to be written.
    """

    model_kind = "tf"

    def __init__(self, path: str | Path, options: Options | None = None) -> None:
        self.path = str(path)
        self.options = options

    def call_impl(self) -> Any:
        """Return something with `inputs`, `version` and `run`.

        Raises:
            PluginError: TensorFlow, or LiteRT, is not installed.
            ModelError: The file is missing, or no model.
            UsageError: An option has no meaning for this kind of file.
        """
        path, options = Path(self.path), self.options or Options()
        if not path.exists():
            raise ModelError(f"there is no file {path}", whose="tf", hint=f"ls -l {path.parent}")
        path = saved_model_of(path) or path
        if path.suffix == ".tflite":
            _only_graphs(options, path)
            return read_part(str(path), options) or LiteModel(
                str(path), options.signature, options.threads, options.kernels, dequantize=options.dequantize
            )
        tf = import_tensorflow()
        _set_up(tf, options)
        if options.ckpt and path.suffix not in {".keras", ".h5", ".hdf5"}:
            raise UsageError(f"weights of a checkpoint go into Keras models, not into {path}", whose="--ckpt")
        read = _from_folder if path.is_dir() else _from_graph if path.suffix == ".pb" else _from_keras
        try:
            return read(tf, path, options)
        except (ModelError, UsageError):
            raise
        except Exception as error:
            raise ModelError(
                f"TensorFlow cannot read {path}", whose="tf", why=describe_exception(error).splitlines()[0]
            ) from error


def _only_graphs(options: Options, path: Path) -> None:
    for field in ("xla", "freeze_graph", "save_pb", "save_tensorboard", "save_timeline", "ckpt"):
        if getattr(options, field):
            raise UsageError(f"{field} has no effect on {path}", whose="tf", why="LiteRT has no graph of TensorFlow")


def _set_up(tf: Any, options: Options) -> None:
    if options.allow_growth:
        for device in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(device, True)


def _from_folder(tf: Any, path: Path, options: Options) -> GraphModel:
    if not (path / SAVED_MODEL).is_file():
        raise ModelError(f"{path} holds no SavedModel", whose="tf", why=f"there is no {SAVED_MODEL} in it")
    loaded = tf.saved_model.load(str(path))
    known = list(loaded.signatures)
    if options.signature not in known:
        raise ModelError(
            f"{path} has no signature {options.signature!r}",
            whose="tf",
            why=did_you_mean(options.signature, known),
            hint=f"-b tf:signature={known[0]}" if known else "export it with signatures",
        )
    return _of_concrete(tf, loaded.signatures[options.signature], options, keep=loaded)


def _from_keras(tf: Any, path: Path, options: Options) -> GraphModel:
    model = tf.keras.models.load_model(str(path), compile=False)
    if options.ckpt:
        model.load_weights(options.ckpt)
    specs = {item.name: tf.TensorSpec(item.shape, item.dtype, item.name) for item in model.inputs}
    names = list(model.output_names)

    def call(**tensors: Any) -> Any:
        values = [tensors[item.name] for item in model.inputs]
        result = model(values if len(values) > 1 else values[0], training=False)
        return dict(zip(names, tf.nest.flatten(result), strict=True))

    concrete = tf.function(call).get_concrete_function(**specs)
    return _of_concrete(tf, concrete, options, keep=model)


def _of_concrete(tf: Any, concrete: Any, options: Options, keep: Any) -> GraphModel:
    inputs = _metadata(concrete.structured_input_signature[1])
    names = sorted(concrete.structured_outputs)  # the order in which a frozen function returns them
    output_names = options.outputs or tuple(concrete.structured_outputs)
    for name in output_names:
        if name not in concrete.structured_outputs:
            raise UsageError(
                f"there is no output {name!r}",
                whose="--tf-outputs",
                why=did_you_mean(name, concrete.structured_outputs),
            )
    outputs = _metadata({name: concrete.structured_outputs[name] for name in output_names})
    if options.save_pb or options.freeze_graph:
        constant = frozen(concrete)
        if options.save_pb:
            Path(options.save_pb).write_bytes(constant.graph.as_graph_def().SerializeToString())
        if options.freeze_graph:
            concrete = constant
    order = sorted(concrete.structured_outputs) if isinstance(concrete.structured_outputs, dict) else names

    def function(tensors: dict[str, Any]) -> dict[str, Any]:
        result = concrete(**tensors)
        by_name = result if isinstance(result, dict) else dict(zip(order, result, strict=True))
        return {name: by_name[name] for name in output_names}

    called = tf.function(function, jit_compile=True) if options.xla else function
    left_open = find_left_open(tf, concrete) if options.xla else None
    wide = partial(in_float64, tf, concrete)
    return GraphModel(tf, called, inputs, outputs, concrete.graph, keep, left_open, _assigned_in(concrete), wide)


def _metadata(tensors: Mapping[str, Any]) -> TensorMetadata:
    """Return the types and declared shapes of tensors of TensorFlow."""
    metadata = TensorMetadata()
    for name, tensor in tensors.items():
        shape = None if tensor.shape.rank is None else tensor.shape.as_list()
        metadata.add(name, tensor.dtype.as_numpy_dtype, shape)
    return metadata


def _from_graph(tf: Any, path: Path, options: Options) -> GraphModel:
    definition = tf.compat.v1.GraphDef()
    try:
        definition.ParseFromString(path.read_bytes())
    except Exception as error:
        raise ModelError(f"{path} is not a frozen graph", whose="tf", why=describe_exception(error)) from error
    if not definition.node:
        raise ModelError(f"{path} is not a frozen graph", whose="tf", why="it has no nodes")
    wrapped = imported(tf, definition)
    graph = wrapped.graph
    input_names = [node.name for node in definition.node if node.op == "Placeholder"]
    output_names = list(options.outputs) or _ends(definition)
    output_tensors = [_tensor(graph, name) for name in output_names]
    input_tensors = [graph.get_tensor_by_name(f"{name}:0") for name in input_names]
    function = wrapped.prune(input_tensors, output_tensors)
    inputs = _metadata(dict(zip(input_names, input_tensors, strict=True)))
    outputs = _metadata(dict(zip(output_names, output_tensors, strict=True)))

    def call(feed: dict[str, Any]) -> dict[str, Any]:
        return dict(zip(output_names, function(*(feed[name] for name in input_names)), strict=True))

    return GraphModel(tf, tf.function(call, jit_compile=True) if options.xla else call, inputs, outputs, graph)


def _ends(definition: Any) -> list[str]:
    """Return the nodes of a graph that nothing reads."""
    read = {name.lstrip("^").partition(":")[0] for node in definition.node for name in node.input}
    return [node.name for node in definition.node if node.name not in read and node.op not in _NO_OUTPUTS]


def _tensor(graph: Any, name: str) -> Any:
    try:
        return graph.get_tensor_by_name(name if ":" in name else f"{name}:0")
    except (KeyError, ValueError):
        known = [operation.name for operation in graph.get_operations()]
        raise UsageError(
            f"there is no tensor {name!r} in the graph", whose="--tf-outputs", why=did_you_mean(name, known)
        ) from None


def make_loader(source: str, options: Options | None) -> TfFromFile:
    """Return the loader of a file of the command line.

    Args:
        source: The file or folder.
        options: The backend's options.
    """
    return TfFromFile(source, options)


def inspect(loader: Callable[[], Any], show: Any) -> str:
    """Return a model's inputs and outputs as text.

    Args:
        loader: Makes the model.
        show: Not used.
    """
    model = loader()
    graph = getattr(model, "graph", None)
    lines = [f"model of {model.version}", "inputs:", *(f"  {name}: {entry}" for name, entry in model.inputs.items())]
    lines += ["outputs:", *(f"  {name}: {entry}" for name, entry in model.outputs.items())]
    if graph is not None:
        lines.append(f"operators: {len(graph.get_operations())}")
    return "\n".join(lines)
