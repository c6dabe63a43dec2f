"""Faults of converters of trained models: files that compute something else than the model they were made from."""

from __future__ import annotations

from dataclasses import dataclass

#: What trains the model and runs it as it is.
TRAINED = "scikit-learn"


@dataclass(frozen=True)
class LearnedFault:
    """A fault of skl2onnx.

    Attributes:
        name: What it is called here.
        what: What the file does, in words.
        model: Lines of Python that make the trained `model`.
        inputs: What it is asked, as Python says it.
        method: The method of the model that answers.
        output: Which output of the file does; of classifiers the first is the label.
        expected: The right value, as Python says it; worked out by hand.
        source: The text of the model's help that the right value follows from.
    """

    name: str
    what: str
    model: str
    inputs: str
    method: str
    output: int
    expected: str
    source: str
    product: str = "skl2onnx"
    products: tuple[str, ...] = ("skl2onnx", TRAINED)

    def code(self, product: str = "") -> str:
        """Return the lines that show what the file computes, or the model that it was made from."""
        lines = f"{self.model}\nx = {self.inputs}"
        if (product or self.product) == TRAINED:
            return f"import numpy as np\n{lines}\nprint(model.{self.method}(x))"
        options = ", options={'zipmap': False}" if self.output else ""
        return (
            f"import numpy as np, onnxruntime\nfrom skl2onnx import to_onnx\n{lines}\n"
            f"file = to_onnx(model, x{options})\n"
            "session = onnxruntime.InferenceSession(file.SerializeToString())\n"
            f"print(session.run(None, {{'X': x}})[{self.output}])"
        )


LEARNED_FAULTS = (
    LearnedFault(
        "Classes of neighbours by their distance, skl2onnx", "weighs all neighbours alike",
        "from sklearn.neighbors import KNeighborsClassifier\n"
        "model = KNeighborsClassifier(2, weights='distance').fit(np.float32([[0], [1], [4]]), [0, 1, 1])",
        "np.float32([[0.25], [2]])", "predict_proba", 1, "[[3 / 4, 1 / 4], [1 / 3, 2 / 3]]",
        "KNeighborsClassifier: “weight points by the inverse of their distance”: 4 to 4 / 3 of 0 and 1, and 1 / 2 to 1",
    ),
    LearnedFault(
        "A mean of neighbours by their distance, skl2onnx", "weighs all neighbours alike",
        "from sklearn.neighbors import KNeighborsRegressor\n"
        "model = KNeighborsRegressor(2, weights='distance').fit(np.float32([[0], [1], [4]]), [[0], [1], [1]])",
        "np.float32([[0.25]])", "predict", 0, "[[1 / 4]]",
        "KNeighborsRegressor: “weight points by the inverse of their distance”: 4 of 0 to 4 / 3 of 1",
    ),
)  # fmt: skip
