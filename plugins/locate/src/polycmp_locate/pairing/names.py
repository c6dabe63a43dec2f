"""Names that converters derive from those of the original tensors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from polycmp_locate.pairing.result import CONVERTED_NAME, SAME_NAME, Match

#: Suffixes of tensors' names from converters: ONNX Runtime's quantisation, onnxconverter-common, `polycmp convert`.
_SUFFIXES = re.compile(
    r"(_QuantizeLinear_Input|_QuantizeLinear_Output|_DequantizeLinear_Output|_DequantizeLinear|_QuantizeLinear"
    r"|_quantized|_dequantized|_output_quantized_cast_output|_output_quantized|_inside|_float32|_fp16|_fp32"
    r"|_cast_to_\w+|_casted_\w+|_castout|_output_cast_?\d*|_input_cast_?\d*|/\w*Cast_?\d*|_scale|_zero_point)$"
)
#: Names that exporters count up: the same one may be another tensor in another export of the same model.
_NUMBERED = re.compile(r"^(val|t|onnx::\w+|[A-Za-z_]{0,3}|const\w*|getitem|tensor)_?\d+$|/Constant_\d+_output_\d+$")
#: Names that say nothing but an operator and a number, and may have the module around it in front, as those of
#: PyTorch's programs and of its TorchScript exporter do (`/layer/Concat_4_output_0`): exporters count them up, the
#: latter within each module, so that an operator more or less moves all numbers after it.
_GENERIC = re.compile(r"^([\w.]+/)?\w+(\.\d+)?$|^(/[\w.]+)*/[A-Z][A-Za-z]*(_\d+)?_output_\d+$|^p2o\.[\w.]+$")


def plain_names(name: str) -> Iterator[str]:
    """Yield the names that a tensor may have had before converters renamed it, without its own."""
    removed = 0
    while (shorter := _SUFFIXES.sub("", name)) != name and removed < 4:
        name, removed = shorter, removed + 1
        yield name


def base_name(name: str) -> str:
    """Return a name without anything that converters append."""
    return next(reversed(list(plain_names(name))), name)


def is_counted(name: str) -> bool:
    """Return whether a name is only a number that an exporter counted up, and therefore no evidence by itself."""
    return bool(_NUMBERED.match(name)) or "Constant_" in name


def is_generic(name: str) -> bool:
    """Return whether a name says at most which operator of a kind made a tensor: `add_3`, `/fc/Add_output_0`."""
    return bool(_GENERIC.match(name))


def pair_program(candidate: Mapping[str, str], reference: Iterable[str]) -> Iterator[Match]:
    """Yield the tensors of a file that an exporter called like those of the program that it was made of.

    Args:
        candidate: Names in the file, each with the module that the file says makes it: `softmax_2`, `encoder.layer.2`.
        reference: Names in the program, with the module in front: `encoder.layer.2/softmax_2`. One of both may have a
            wrapper's name around all others.
    """
    program = {name.rpartition("/")[2]: name for name in reference if "/" in name}
    for name, module in candidate.items():
        target = program.get(name)
        if target is not None and _is_same_module(module, target.rpartition("/")[0]):
            yield Match(name, target, SAME_NAME)


def _is_same_module(one: str, two: str) -> bool:
    short, long = sorted((one, two), key=len)
    return bool(short) and f".{long}".endswith(f".{short}")


def pair_names(candidate: Iterable[str], reference: Iterable[str]) -> tuple[Match, ...]:
    """Return the tensors of two lists of names that belong together, by name alone.

    Each name is given away once; one that two could have goes to neither, unless it is the very name of one of them.

    Args:
        candidate: Names that the candidate shows.
        reference: Names that the reference shows.
    """
    names, others = list(candidate), set(reference)
    matches = {name: Match(name, name, SAME_NAME) for name in names if name in others}
    claims: dict[str, list[str]] = {}
    for name in names:
        target = next((item for item in plain_names(name) if item in others), None)
        if name not in matches and target is not None and target not in matches:
            claims.setdefault(target, []).append(name)
    for target, claimants in claims.items():
        if len(claimants) == 1:
            matches[claimants[0]] = Match(claimants[0], target, CONVERTED_NAME)
    return tuple(matches[name] for name in names if name in matches)
