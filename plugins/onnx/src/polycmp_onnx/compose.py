"""The loader `onnx` as the command line uses it: options in, a chain of loaders out."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp_onnx.describe import check_options, outputs_of
from polycmp_onnx.load import OnnxFromPath, OnnxLoader
from polycmp_onnx.plugin import LoaderOptions

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle

_LOG = logging.getLogger("polycmp")


def make_loader(source: Any, options: LoaderOptions | None = None, *, model: ModelHandle | None = None) -> OnnxLoader:
    """Return the loader of a model with all that the options ask for.

    Its attribute `path` is the file if the model is used as it lies there, None if it is changed on the way.

    Args:
        source: Path of the model, or a loader that gives one.
        options: Options for loading, changing and saving the model; None for the defaults.
        model: The model of the run that it is loaded for, whose structure is read but once.

    Raises:
        UsageError: Options that contradict or need each other.
    """
    options = options or LoaderOptions()
    check_options(options)
    loader: Any = source
    if isinstance(source, (str, Path)):
        loader = OnnxFromPath(
            str(source),
            external_data_dir=options.external_data_dir,
            ignore_external_data=options.ignore_external_data,
        )
        loader.structure = None if model is None else model.structure
    if options.fp_to_fp16 or options.fp_to_bf16:
        from polycmp_onnx.convert import ConvertToBf16, ConvertToFp16

        arguments = {"keep_float": list(options.keep_float)} if options.keep_float else {}
        loader = ConvertToFp16(loader, **arguments) if options.fp_to_fp16 else ConvertToBf16(loader, **arguments)
    if options.shape_inference:
        from polycmp_onnx.shapes import InferShapes

        loader = InferShapes(loader, allow_onnxruntime=not options.no_onnxruntime_shape_inference)
    outputs = outputs_of(options)
    if outputs or options.exclude_outputs or options.outputs_by_type:
        from polycmp_onnx.outputs import ModifyOutputs

        loader = ModifyOutputs(
            loader,
            outputs=outputs,
            exclude_outputs=list(options.exclude_outputs) or None,
            mark_types=list(options.outputs_by_type) or None,
        )
    if options.save:
        from polycmp_onnx.save import SaveOnnx

        saving = SaveOnnx(
            loader,
            options.save,
            external_data_path=options.save_external_data,
            size_threshold=options.external_data_size_threshold,
            all_tensors_to_one_file=not options.no_save_all_tensors_to_one_file,
        )
        saving.verify = partial(_verify, source, options)
        return saving
    return loader  # type: ignore[no-any-return]


def _verify(source: Any, options: LoaderOptions, path: Path) -> None:
    """Look at a file before it takes the place that `save` names.

    Args:
        source: As for `make_loader`.
        options: As for `make_loader`.
        path: The file.

    Raises:
        ModelError: Something is wrong with it that is not wrong with the model.
    """
    from polycmp.plugins import Registry
    from polycmp_onnx.verify import Verification

    original: Any = lambda: None  # noqa: E731 - a model of another kind is not to be converted twice
    if isinstance(source, (str, Path)):
        original = OnnxFromPath(str(source), external_data_dir=options.external_data_dir)
    verification = Verification(
        None if options.ignore_external_data else Registry.discover(),
        original,
        same=not (options.fp_to_fp16 or options.fp_to_bf16),
        whose=str(source) if isinstance(source, (str, Path)) else "the model",
        hint=f"polycmp convert with the same options and --no-verify writes {options.save} all the same",
    )
    verification(path)
    _LOG.info("%s is verified: %s", options.save, ", ".join(verification.done))
