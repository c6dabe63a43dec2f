"""Backends that run a folder with a decoder: tokens in, logits out, whatever cache there is inside."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata, to_numpy

if TYPE_CHECKING:
    from polycmp.loader import Loader
    from polycmp.spec import ModelHandle
    from polycmp_generate.plugin import OpenvinoOptions, TransformersOptions

Tokens = npt.NDArray[np.int64]
#: What has OpenVINO calculate in float32, and keep the cache so: by default that holds whole numbers of 8 bits.
_FLOAT32 = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}


def make_loader(source: str, options: None) -> Callable[[], str]:
    """Return the loader of a folder: the libraries read it themselves."""
    del options
    return lambda: source


def make_transformers(model: ModelHandle, options: TransformersOptions, *, name: str) -> Runner:
    """Create the runner of the backend `transformers`."""
    return TransformersRunner(model.load("decoder"), options, name)


def make_genai(model: ModelHandle, options: None, *, name: str) -> Runner:
    """Create the runner of the backend `genai`."""
    del options
    return GenaiRunner(model.load("decoder"), name)


def make_openvino(model: ModelHandle, options: OpenvinoOptions, *, name: str) -> Runner:
    """Create the runner of the backend `openvino_genai`."""
    return OpenvinoRunner(model.load("decoder"), options, name)


class TextRunner(Runner):
    """Runs a decoder on texts; a text that continues the previous call's uses the cache, if the library can.

    The logits are those behind each token that is new.

    Args:
        folder: Gives the folder.
        name: Label of the runner.
    """

    outputs_stay_valid = True
    #: Whether several texts go on together.
    several_go_on = True

    def __init__(self, folder: Loader[str], name: str) -> None:
        super().__init__(name)
        self._folder = folder
        self._tokens: Tokens = np.zeros((0, 0), np.int64)

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the one input."""
        return TensorMetadata().add("input_ids", np.dtype(np.int64), ("batch", "sequence"))

    def infer_impl(self, feed_dict: Mapping[str, Any]) -> dict[str, Any]:
        """Run the decoder on what is new."""
        tokens: Tokens = np.asarray(to_numpy(feed_dict["input_ids"]))
        count = self._tokens.shape[1]
        goes_on = 0 < count < tokens.shape[1] and np.array_equal(tokens[:, :count], self._tokens)
        goes_on &= self.several_go_on or len(tokens) == 1
        self._tokens = np.zeros((0, 0), np.int64)  # a call that fails leaves nothing to go on from
        logits = self._logits(tokens[:, count if goes_on else 0 :], goes_on=goes_on)
        self._tokens = tokens.copy()
        return {"logits": logits}

    @abstractmethod
    def _logits(self, tokens: Tokens, *, goes_on: bool) -> npt.NDArray[Any]:
        """Return the logits behind each token, `[text, place, token]`."""


class TransformersRunner(TextRunner):
    """Runs a folder of transformers.

    Args:
        folder: Gives the folder.
        options: The backend's options.
        name: Label of the runner.
    """

    def __init__(self, folder: Loader[str], options: TransformersOptions, name: str) -> None:
        super().__init__(folder, name)
        self._options = options
        self._model: Any = None
        self._cache: Any = None
        self._name_of_cache = ""

    def activate_impl(self) -> None:
        """Load the model; nothing is fetched, and no code in the folder is run."""
        import torch
        import transformers

        self.backend_version = transformers.__version__
        self._model = transformers.AutoModelForCausalLM.from_pretrained(
            self._folder(), local_files_only=True, trust_remote_code=False, dtype=getattr(torch, self._options.dtype)
        )
        self._model.to(self._options.device).eval()

    def deactivate_impl(self) -> None:
        """Drop the model."""
        self._model = self._cache = None

    def _logits(self, tokens: Tokens, *, goes_on: bool) -> npt.NDArray[Any]:
        import torch

        cache = {self._name_of_cache: self._cache} if goes_on else {}
        with torch.inference_mode():
            outputs = self._model(
                input_ids=torch.from_numpy(tokens.copy()).to(self._options.device), use_cache=True, **cache
            )
        self._name_of_cache = "cache" if "cache" in outputs else "past_key_values"  # releases of 2026 have renamed it
        self._cache = outputs[self._name_of_cache]
        return np.asarray(outputs.logits.float().cpu().numpy())


class GenaiRunner(TextRunner):
    """Runs a folder of ONNX Runtime GenAI.

    Args:
        folder: Gives the folder.
        name: Label of the runner.
    """

    several_go_on = False

    def __init__(self, folder: Loader[str], name: str) -> None:
        super().__init__(folder, name)
        self._model: Any = None
        self._generator: Any = None

    def activate_impl(self) -> None:
        """Load the model."""
        import onnxruntime_genai

        self.backend_version = onnxruntime_genai.__version__
        self._model = onnxruntime_genai.Model(self._folder())

    def deactivate_impl(self) -> None:
        """Drop the model."""
        self._generator = self._model = None

    def _logits(self, tokens: Tokens, *, goes_on: bool) -> npt.NDArray[Any]:
        import onnxruntime_genai

        if not goes_on:
            params = onnxruntime_genai.GeneratorParams(self._model)
            params.set_search_options(batch_size=len(tokens), do_sample=False)
            self._generator = onnxruntime_genai.Generator(self._model, params)
        self._generator.append_tokens(tokens.astype(np.int32))
        return np.array(self._generator.get_output("logits"), np.float32)


class OpenvinoRunner(TextRunner):
    """Runs a folder of OpenVINO GenAI, whose model keeps the cache as its state.

    Args:
        folder: Gives the folder.
        options: The backend's options.
        name: Label of the runner.
    """

    def __init__(self, folder: Loader[str], options: OpenvinoOptions, name: str) -> None:
        super().__init__(folder, name)
        self._options = options
        self._request: Any = None
        self._inputs: frozenset[str] = frozenset()
        self._length = 0

    def activate_impl(self) -> None:
        """Compile the model."""
        import openvino

        self.backend_version = openvino.__version__.partition("-")[0]
        settings = {} if self._options.own_precision else _FLOAT32
        file = Path(self._folder(), "openvino_model.xml")
        compiled = openvino.Core().compile_model(str(file), self._options.device, settings)
        self._inputs = frozenset(item.get_any_name() for item in compiled.inputs)
        self._request = compiled.create_infer_request()

    def deactivate_impl(self) -> None:
        """Drop the model."""
        self._request = None

    def _logits(self, tokens: Tokens, *, goes_on: bool) -> npt.NDArray[Any]:
        rows, count = tokens.shape
        if not goes_on:
            self._request.reset_state()
            self._length = 0
        positions = np.arange(self._length, self._length + count)
        self._length += count
        inputs = {
            "input_ids": tokens,
            "attention_mask": np.ones((rows, self._length), np.int64),
            "position_ids": np.tile(positions, (rows, 1)),
            "beam_idx": np.arange(rows, dtype=np.int32),
        }
        self._request.infer({name: array for name, array in inputs.items() if name in self._inputs})
        return np.array(self._request.get_tensor("logits").data, np.float32)
