"""The runner: builds an engine with trtexec, and calls it again for each inference."""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import BackendError, describe_exception
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata
from polycmp_onnx import save_onnx
from polycmp_onnx.graph import graph_inputs, tensor_metadata
from polycmp_onnx.load import given_model

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle
    from polycmp_trtexec.plugin import Options

Shapes = tuple[tuple[str, tuple[int, ...]], ...]

#: One inference, without warming up: the core counts iterations itself.
_ONCE = ("--iterations=1", "--duration=0", "--warmUp=0")
#: Lines of the program's output that an error shows.
_LINES = 5
#: Numbers that C++ prints and JSON does not know.
_NOT_JSON = re.compile(r"(?<=[\s\[,])(-?)(nan|inf)(?:\([^)]*\))?(?=[\s\],])")


class TrtexecRunner(Runner):
    """Builds an engine of an ONNX model with trtexec, one for each set of input shapes, and runs it.

    trtexec prints outputs with six digits and without their types, which are taken from the model.

    Args:
        model: A model in any form that the loaders of polycmp-onnx take, or a callable that returns one.
        name: The label in reports.
        path: The program.
        flags: Arguments for building and running, with their hyphens.
        timeout: Seconds after which one call of the program is given up.
    """

    outputs_stay_valid = True

    def __init__(
        self, model: Any, name: str = "", path: str = "trtexec", flags: Sequence[str] = (), timeout: float = 3600.0
    ) -> None:
        super().__init__(name)
        self.model = model
        self.path = path
        self.flags = tuple(flags)
        self.timeout = timeout

    def activate_impl(self) -> None:
        """Find the program and write the model for it; build the engine where the model fixes all shapes.

        Raises:
            BackendError: The program is not there, or builds no engine.
        """
        program = shutil.which(self.path)
        if program is None:
            raise BackendError(
                f"there is no program {self.path!r}",
                whose=self.name,
                hint="--trtexec-path FILE; it comes with TensorRT",
            )
        model = given_model(self.model)
        self._program = program
        self._inputs = tensor_metadata(graph_inputs(model.graph))
        self._outputs = tensor_metadata(model.graph.output)
        self._is_open = any(entry.is_dynamic() for entry in self._inputs.values())
        self._engines: dict[Shapes, str] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="polycmp-trtexec-", ignore_cleanup_errors=True)
        try:
            save_onnx(model, self._file("model.onnx"))
            if not self._is_open:
                self._engine({})
        except BaseException:
            self._folder.cleanup()
            raise
        self.notes.append("trtexec prints outputs with six digits: smaller differences are not seen")

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs that the model declares."""
        return self._inputs

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs for one feed.

        Raises:
            BackendError: The program fails, or leaves no outputs.
        """
        words = []
        for index, (name, array) in enumerate(feed_dict.items()):
            file = self._file(f"input{index}.bin")
            Path(file).write_bytes(np.ascontiguousarray(array).tobytes())
            words.append(f"{_quoted(name)}:{file}")
        shapes = {name: np.shape(array) for name, array in feed_dict.items()}
        engine = self._engine(shapes)
        made, times = self._file("outputs.json"), self._file("times.json")
        for path in (made, times):
            Path(path).unlink(missing_ok=True)
        self._call(
            f"--loadEngine={engine}",
            *self._shape_words(shapes, ("shapes",)),
            *([f"--loadInputs={','.join(words)}"] if words else ()),
            f"--exportOutput={made}",
            f"--exportTimes={times}",
            *_ONCE,
        )
        self.inference_time = _seconds(times)
        return self._read(made)

    def deactivate_impl(self) -> None:
        """Remove the engines."""
        self._folder.cleanup()

    def _engine(self, shapes: Mapping[str, tuple[int, ...]]) -> str:
        """Return the engine for these shapes, built if it is new."""
        key: Shapes = tuple(sorted(shapes.items())) if self._is_open else ()
        if key not in self._engines:
            engine = self._file(f"model{len(self._engines)}.engine")
            given = self._shape_words(shapes, ("minShapes", "optShapes", "maxShapes"))
            self._call(f"--onnx={self._file('model.onnx')}", f"--saveEngine={engine}", *given, *_ONCE)
            if not Path(engine).is_file():
                raise BackendError(f"{self.path} ended well and saved no engine", whose=self.name)
            self._engines[key] = engine
        return self._engines[key]

    def _shape_words(self, shapes: Mapping[str, tuple[int, ...]], flags: Sequence[str]) -> list[str]:
        """Return the arguments on shapes; there are none for a model that fixes them, which trtexec would refuse."""
        if not self._is_open:
            return []
        text = ",".join(
            f"{_quoted(name)}:{'x'.join(map(str, shape)) or '1'}"
            for name, shape in shapes.items()
            if self._inputs[name].is_dynamic()
        )
        return [f"--{flag}={text}" for flag in flags]

    def _file(self, name: str) -> str:
        return str(Path(self._folder.name, name))

    def _call(self, *words: str) -> None:
        """Call the program.

        Raises:
            BackendError: It cannot be started, takes too long, or fails.
        """
        try:
            done = subprocess.run(
                [self._program, *words, *self.flags],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=self.timeout,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BackendError(f"{self.path} did not run", whose=self.name, why=describe_exception(error)) from error
        if done.returncode:
            lines = [line.strip() for line in done.stdout.decode(errors="replace").splitlines() if line.strip()]
            told = [line for line in lines if "[E]" in line] or lines
            raise BackendError(
                f"{self.path} ended with status {done.returncode}",
                whose=self.name,
                why="; ".join(told[-_LINES:]),
                hint=" ".join([self.path, f"--onnx={getattr(self.model, 'path', None) or 'MODEL'}", *self.flags]),
            )

    def _read(self, path: str) -> dict[str, Any]:
        try:
            text = Path(path).read_text(encoding="utf-8")
            content = json.loads(_NOT_JSON.sub(lambda m: f"{m[1]}{'NaN' if m[2] == 'nan' else 'Infinity'}", text))
            return {str(item["name"]): self._array(item) for item in content}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BackendError(
                f"the outputs of {self.path} cannot be read", whose=self.name, why=describe_exception(error)
            ) from error

    def _array(self, item: Mapping[str, Any]) -> Any:
        entry = self._outputs.get(str(item["name"]))
        dtype = np.dtype(np.float32) if entry is None or entry.dtype is None else entry.dtype
        shape = tuple(int(size) for size in str(item["dimensions"]).split("x") if size)
        return np.array(item["values"], dtype=np.float64 if dtype.kind == "f" else None).astype(dtype).reshape(shape)


def _quoted(name: str) -> str:
    """Return a tensor's name as trtexec takes it apart from what follows."""
    return f"'{name}'" if set(name) & set(":,") else name


def _seconds(path: str) -> float | None:
    """Return the time that the exported runs took on the device in the median; None if that was not exported."""
    try:
        runs = json.loads(Path(path).read_text(encoding="utf-8"))
        return statistics.median(float(run["computeMs"]) for run in runs) / 1000
    except (OSError, ValueError, KeyError, TypeError):
        return None


def make_runner(model: ModelHandle, options: Options, *, name: str) -> TrtexecRunner:
    """Return the runner for a model; the core calls this with the options given on the command line."""
    switches = {"fp16": options.fp16, "bf16": options.bf16, "int8": options.int8, "best": options.best}
    flags = [f"--{flag}" for flag, on in switches.items() if on]
    flags += ["--noTF32"] if options.no_tf32 else []
    flags += [f"--{word.lstrip('-')}" for word in options.arguments]
    return TrtexecRunner(model.load("onnx"), name, options.path, flags, options.timeout)
