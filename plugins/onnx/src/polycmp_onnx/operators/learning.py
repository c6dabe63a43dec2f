"""Operators of the domain ai.onnx.ml that ONNX's reference evaluator lacks, or calculates otherwise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from polycmp_onnx.operators.forests import TreeEnsemble, TreeEnsembleClassifier, TreeEnsembleRegressor
from polycmp_onnx.operators.scores import labels_of, real_type, transformed, with_second_class
from polycmp_onnx.operators.support_vectors import SVMClassifier, SVMRegressor


class ZipMap(OpRun):  # type: ignore[misc]
    """ZipMap: rows of scores as mappings from a class to its score."""

    def _run(self, x: Any, *, classlabels_int64s: Any = None, classlabels_strings: Any = None) -> tuple[Any]:
        labels = classlabels_strings or classlabels_int64s or ()
        rows = x[None] if x.ndim == 1 else x
        if rows.ndim != 2 or rows.shape[1] != len(labels):
            raise ValueError(f"its input has shape {list(x.shape)}, and there are {len(labels)} classes")
        return ([dict(zip(labels, row, strict=True)) for row in rows],)


class CategoryMapper(OpRun):  # type: ignore[misc]
    """CategoryMapper: texts as numbers, or numbers as texts."""

    def _run(self, x: Any, *, cats_int64s: Any, cats_strings: Any, default_int64: int = -1,
             default_string: str = "_Unused") -> tuple[Any]:  # fmt: skip
        if x.dtype.kind in "OUS":
            known = dict(zip(cats_strings, cats_int64s, strict=True))
            return (_mapped(x, known, default_int64, np.int64),)
        return (_mapped(x, dict(zip(cats_int64s, cats_strings, strict=True)), default_string, object),)


class LabelEncoder(OpRun):  # type: ignore[misc]
    """LabelEncoder; ONNX's does not find NaN among its keys, and knows neither set 1 nor tensors without a default."""

    def _run(self, x: Any, *, classes_strings: Any = None, **attributes: Any) -> tuple[Any]:
        numbers_default = attributes.get("default_int64", -1)
        texts_default = attributes.get("default_string", "_Unused")
        if classes_strings is not None:
            if x.dtype.kind in "OUS":
                known = {name: at for at, name in enumerate(classes_strings)}
                return (_mapped(x, known, numbers_default, np.int64),)
            return (_mapped(x, dict(enumerate(classes_strings)), texts_default, object),)
        kinds = ("int64s", "floats", "strings", "tensor")
        keys = next(attributes[f"keys_{kind}"] for kind in kinds if attributes.get(f"keys_{kind}") is not None)
        kind = next(kind for kind in kinds if attributes.get(f"values_{kind}") is not None)
        values = attributes[f"values_{kind}"]
        if kind == "tensor":
            texts = values.dtype.kind in "OUS"
            default = attributes.get("default_tensor")
            usual: Any = "_Unused" if texts else values.dtype.type(-1 if values.dtype.kind in "iu" else -0.0)
            known = dict(zip(np.asarray(keys).tolist(), values.tolist(), strict=True))
            return (_mapped(x, known, usual if default is None else np.reshape(default, -1)[0],
                            object if texts else values.dtype),)  # fmt: skip
        float_default = attributes.get("default_float", -0.0)
        default = {"int64s": numbers_default, "strings": texts_default, "floats": float_default}[kind]
        dtype = {"int64s": np.int64, "strings": object, "floats": np.float32}[kind]
        return (_mapped(x, dict(zip(np.asarray(keys).tolist(), values, strict=True)), default, dtype),)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _mapped(x: Any, known: dict[Any, Any], default: Any, dtype: Any) -> Any:
    for_nan = next((value for key, value in known.items() if _is_nan(key)), default)
    mapped = [known.get(item, for_nan if _is_nan(item) else default) for item in x.reshape(-1).tolist()]
    return np.array(mapped, dtype).reshape(x.shape)


class Normalizer(OpRun):  # type: ignore[misc]
    """Normalizer; ONNX's divides by the largest amount in place of the largest number, and fails for whole numbers."""

    def _run(self, x: Any, *, norm: str = "MAX") -> tuple[Any]:
        wide = x.astype(real_type(x))
        if norm == "MAX":
            divisor = wide.max(axis=-1, keepdims=True)
        elif norm == "L1":
            divisor = np.abs(wide).sum(axis=-1, keepdims=True)
        else:
            divisor = np.sqrt(np.square(wide).sum(axis=-1, keepdims=True))
        return (np.divide(wide, divisor, out=wide.copy(), where=divisor != 0),)


class Scaler(OpRun):  # type: ignore[misc]
    """Scaler; ONNX's gives whole numbers for such."""

    def _run(self, x: Any, *, offset: Any = None, scale: Any = None) -> tuple[Any]:
        wide = x.astype(real_type(x))
        moved = wide if offset is None else wide - np.array(offset, wide.dtype)
        return (moved if scale is None else moved * np.array(scale, wide.dtype),)


class FeatureVectorizer(OpRun):  # type: ignore[misc]
    """FeatureVectorizer; ONNX's gives whole numbers for such."""

    def _run(self, *inputs: Any, inputdimensions: Any = None) -> tuple[Any]:
        rows = [item.reshape(1, -1) if item.ndim == 1 else item.reshape(len(item), -1) for item in inputs]
        widths = inputdimensions or [item.shape[1] for item in rows]
        parts = []
        for item, width in zip(rows, widths, strict=True):
            part = np.zeros((len(item), width), real_type(item))
            columns = min(width, item.shape[1])
            part[:, :columns] = item[:, :columns]
            parts.append(part)
        return (np.concatenate(parts, axis=1),)


class OneHotEncoder(OpRun):  # type: ignore[misc]
    """OneHotEncoder; ONNX's does not cast real numbers to whole ones before it looks them up."""

    def _run(self, x: Any, *, cats_int64s: Any = None, cats_strings: Any = None, zeros: int = 1) -> tuple[Any]:
        values = x if x.dtype.kind in "OUS" else x.astype(np.int64)
        categories = np.array(cats_strings, object) if cats_strings else np.array(cats_int64s, np.int64)
        matches = values[..., None] == categories
        if not zeros and not matches.any(axis=-1).all():
            raise ValueError("a value is none of the categories, and zeros is 0")
        return (matches.astype(np.float32),)


def _linear(x: Any, coefficients: Any, intercepts: Any) -> Any:
    """Return the scores of rows: a row of coefficients and an intercept for each."""
    wide = x.astype(real_type(x))
    scores = wide @ coefficients.T.astype(wide.dtype)
    scores += np.array(intercepts if intercepts else 0, wide.dtype)
    return scores


class LinearRegressor(OpRun):  # type: ignore[misc]
    """LinearRegressor; ONNX's gives NaN without intercepts, and knows no transform."""

    def _run(self, x: Any, *, coefficients: Any, intercepts: Any = None, targets: int = 1,
             post_transform: str = "NONE") -> tuple[Any]:  # fmt: skip
        return (transformed(_linear(x, np.reshape(coefficients, (targets, -1)), intercepts), post_transform),)


class LinearClassifier(OpRun):  # type: ignore[misc]
    """LinearClassifier; ONNX's takes labels from transformed scores, and other scores where there is one for two."""

    def _run(self, x: Any, *, coefficients: Any, intercepts: Any = None, classlabels_ints: Any = None,
             classlabels_strings: Any = None, post_transform: str = "NONE", **_: Any) -> tuple[Any, Any]:  # fmt: skip
        scores = _linear(x, np.reshape(coefficients, (-1, x.shape[1])), intercepts)
        labels = classlabels_ints or classlabels_strings or [0, 1]
        if scores.shape[1] > 1:
            return labels_of(scores.argmax(axis=1), labels), transformed(scores, post_transform)
        chosen = labels_of((scores[:, 0] > 0).astype(int), labels if len(labels) > 1 else [0, *labels])
        return chosen, with_second_class(scores, post_transform, is_share=True)


OPERATORS: dict[str, type[Any]] = {
    cls.__name__: cls
    for cls in (
        *(CategoryMapper, FeatureVectorizer, LabelEncoder, LinearClassifier, LinearRegressor, Normalizer),
        *(OneHotEncoder, SVMClassifier, SVMRegressor, Scaler, TreeEnsemble, TreeEnsembleClassifier),
        *(TreeEnsembleRegressor, ZipMap),
    )
}
