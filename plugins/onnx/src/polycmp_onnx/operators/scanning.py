"""Scan, by ONNX's specification: over all axes, in both directions, and of opset 8."""
# ruff: noqa: N801

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from polycmp_onnx.operators.control import stacked


class _Scan(OpRun):  # type: ignore[misc]
    def need_context(self) -> bool:
        """Return True: the body reads values of the graph around it."""
        return True


class Scan_9(_Scan):
    """Scan; ONNX's knows no other axis than the first, no other direction than forwards, and at least one step."""

    def _run(
        self,
        *inputs: Any,
        body: Any,
        num_scan_inputs: int,
        context: Any = None,
        attributes: Any = None,
        scan_input_axes: Any = None,
        scan_input_directions: Any = None,
        scan_output_axes: Any = None,
        scan_output_directions: Any = None,
        **_: Any,
    ) -> tuple[Any, ...]:
        count = len(inputs) - num_scan_inputs
        output_count = len(body.output_names) - count
        axes = scan_input_axes or [0] * num_scan_inputs
        scanned = [np.moveaxis(item, axis, 0) for item, axis in zip(inputs[count:], axes, strict=True)]
        scanned = [_turned(item, at, scan_input_directions) for at, item in enumerate(scanned)]
        state, scans = _steps(body, list(inputs[:count]), scanned, context, attributes)
        types = body.output_types[count:]
        outputs = [_turned(stacked(scan, kind), at, scan_output_directions)
                   for at, (scan, kind) in enumerate(zip(scans, types, strict=True))]  # fmt: skip
        ends = scan_output_axes or [0] * output_count
        return (*state, *(np.moveaxis(item, 0, axis) for item, axis in zip(outputs, ends, strict=True)))


class Scan_8(_Scan):
    """Scan of opset 8, which goes through each element of a batch by itself; ONNX's does not know it."""

    def _run(
        self,
        lengths: Any,
        *inputs: Any,
        body: Any,
        num_scan_inputs: int,
        context: Any = None,
        attributes: Any = None,
        directions: Any = None,
        **_: Any,
    ) -> tuple[Any, ...]:
        count = len(inputs) - num_scan_inputs
        results = []
        for number in range(inputs[-1].shape[0]):
            longest = inputs[-1].shape[1]
            length = longest if lengths is None else int(lengths[number])
            scanned = [_turned(item[number, :length], at, directions) for at, item in enumerate(inputs[count:])]
            state, scans = _steps(body, [item[number] for item in inputs[:count]], scanned, context, attributes)
            types = body.output_types[count:]
            outputs = [stacked(scan, kind) for scan, kind in zip(scans, types, strict=True)]
            rest = [(0, longest - length)]
            results.append([*state, *(np.pad(item, rest + [(0, 0)] * (item.ndim - 1)) for item in outputs)])
        return tuple(np.stack(items) for items in zip(*results, strict=True))


def _turned(items: Any, at: int, directions: Sequence[int] | None) -> Any:
    return items[::-1] if directions and directions[at] else items


def _steps(
    body: Any, state: list[Any], scanned: Sequence[Any], context: Any, attributes: Any
) -> tuple[list[Any], list[list[Any]]]:
    """Run the body for each element; return the last state, and what is scanned."""
    count = len(state)
    scans: list[list[Any]] = [[] for _ in body.output_names[count:]]
    for items in zip(*scanned, strict=True):
        feed = dict(zip(body.input_names, [*state, *(np.asarray(item) for item in items)], strict=True))
        outputs = body.run(None, {**(context or {}), **feed}, attributes=attributes)
        state = list(outputs[:count])
        for scan, value in zip(scans, outputs[count:], strict=True):
            scan.append(value)
    return state, scans
