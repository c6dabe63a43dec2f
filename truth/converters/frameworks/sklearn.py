"""scikit-learn, whose models skl2onnx converts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from skl2onnx import to_onnx
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR

from truth.converters.frameworks import Export, Exportable, Framework, rows


def _fitted(make: Callable[[], Any]) -> Exportable:
    """Return a model fitted to curved classes or to a curve, by its kind, and what it says of other rows."""
    x = 2.0 * rows(300, 6) + 1.0
    line = x @ np.array([1.0, -0.5, 0.3, 0.0, 0.2, -0.1]) + 0.2 * x[:, 0] ** 2
    model = make()
    classifies = hasattr(model, "predict_proba")
    model.fit(x, np.digitize(line, np.quantile(line, [0.4, 0.7])) if classifies else line)
    feed = 2.0 * rows(20, 6, seed=5) + 1.0
    made = [np.asarray(model.predict(feed))]
    if classifies:
        made.append(np.asarray(model.predict_proba(feed), np.float32))
    elif hasattr(model, "transform") and hasattr(model, "cluster_centers_"):
        made.append(np.asarray(model.transform(feed), np.float32))
    if made[0].dtype.kind == "f":
        made[0] = made[0].astype(np.float32).reshape(-1, 1)
    return Exportable(model, {"X": feed}, [item.astype(np.int64) if item.dtype.kind == "i" else item for item in made],
                      {"X": {0: "rows"}})  # fmt: skip


def _export(made: Exportable, target: Path, *, opset: int | None, plain: bool) -> None:
    classifies = hasattr(made.network, "predict_proba")
    options = {"zipmap": False} if plain and classifies else None
    model = to_onnx(made.network, made.inputs["X"][:1], target_opset=opset, options=options)
    target.write_bytes(model.SerializeToString())


_MODELS: dict[str, Callable[[], Any]] = {
    "logistic": partial(LogisticRegression, max_iter=500),
    "forest": partial(RandomForestClassifier, n_estimators=12, max_depth=6, random_state=0),
    "boosted trees": partial(GradientBoostingRegressor, n_estimators=20, random_state=0),
    "histogram trees": partial(HistGradientBoostingClassifier, max_iter=10, random_state=0),
    "support vectors": partial(SVC, probability=True, random_state=0),
    "support vector regression": SVR,
    "neighbours": KNeighborsClassifier,
    "bayes": GaussianNB,
    "perceptron": partial(MLPClassifier, hidden_layer_sizes=(16, 16), random_state=0),
    "perceptron regression": partial(
        MLPRegressor, hidden_layer_sizes=(16, 16), activation="tanh", max_iter=300, random_state=0
    ),
    "means": partial(KMeans, 5, n_init=3, random_state=0),
    "pipeline": lambda: make_pipeline(StandardScaler(), PolynomialFeatures(2), PCA(8), Ridge()),
    "scaled logistic": lambda: make_pipeline(StandardScaler(), PCA(5), LogisticRegression(max_iter=500)),
}
_EXPORTERS: dict[str, Export] = {
    "skl2onnx": partial(_export, opset=None, plain=False),
    "skl2onnx, no maps": partial(_export, opset=None, plain=True),
    "skl2onnx, opset 15": partial(_export, opset=15, plain=True),
}
FRAMEWORK = Framework(
    networks={name: partial(_fitted, make) for name, make in _MODELS.items()},
    exporters=_EXPORTERS,
    packages=("scikit-learn", "skl2onnx"),
)
