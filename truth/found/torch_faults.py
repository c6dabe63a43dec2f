"""Faults of torch.compile and of the exporter: functions that give something else than as they are, wrongly."""

from __future__ import annotations

from dataclasses import dataclass

#: The same function without torch.compile, as another product.
EAGER = "torch, not compiled"
#: What writes PyTorch's operators as those of ONNX.
EXPORTER = "onnxscript, torch.onnx.export"
_EXPORTED = """class Net(torch.nn.Module):
    def forward(self, x):
        return f(x)
torch.onnx.export(Net(), (x,), 'm.onnx', verbose=False)
session = onnxruntime.InferenceSession('m.onnx')
print(session.run(None, {session.get_inputs()[0].name: x.numpy()})[0])"""


@dataclass(frozen=True)
class TorchFault:
    """A fault of torch.compile, or of the exporter.

    Attributes:
        name: What it is called here.
        what: What the compiled or exported function does, in words.
        function: Lines of Python that make the function `f`.
        inputs: Its arguments, as Python says them.
        expected: The right value, as Python says it; worked out by hand.
        source: The text, or the formula, that the right value follows from.
        issue: Its number among PyTorch's issues where somebody reported it; 0 for none known.
    """

    name: str
    what: str
    function: str
    inputs: str
    expected: str
    source: str
    issue: int = 0
    product: str = "torch"
    products: tuple[str, ...] = ("torch", EAGER)

    def code(self, product: str = "") -> str:
        """Return the lines that show what the function computes: compiled, exported or as it is."""
        product, lines = product or self.product, f"import numpy as np, torch\n{self.function}\nx = {self.inputs}"
        if product == EXPORTER:
            return f"import onnxruntime\n{lines}\n{_EXPORTED}"
        return f"{lines}\nprint({'f' if product == EAGER else 'torch.compile(f)'}(x))"


def _exported(name: str, what: str, function: str, inputs: str, expected: str, source: str) -> TorchFault:
    """Return a fault of the exporter."""
    return TorchFault(name, what, function, inputs, expected, source, product=EXPORTER, products=(EXPORTER, EAGER))


TORCH_FAULTS = (
    TorchFault(
        "Infinity times 0, compiled", "gives 0",
        "f = lambda x: x * 0", "torch.tensor([torch.inf, 1.0])", "[np.nan, 0]",
        "IEEE 754, 7.2: multiplication of 0 and infinity is invalid and gives NaN",
    ),
    TorchFault(
        "One over a negative zero, compiled", "gives infinity of the other sign",
        "f = lambda x: torch.reciprocal(x * 0)", "torch.tensor([-1.0, 1.0])", "[-np.inf, np.inf]",
        "IEEE 754, 6.3 and 7.3: the sign of a product is the exclusive or of the signs, and so is that of 1 / −0",
    ),
    TorchFault(
        "Infinity divided and rounded down, compiled", "gives infinity",
        "f = lambda x: torch.div(x, torch.full_like(x, 0.25), rounding_mode='floor')",
        "torch.tensor([torch.inf, 1.0])", "[np.nan, 4]",
        "div: “Equivalent to floor division in Python (the // operator) and NumPy's np.floor_divide”, which give NaN",
    ),
    TorchFault(
        "Angle of a negative zero, compiled", "gives 0",
        "def f(x):\n    x[0] = complex(-0.0, 0.0)\n    return torch.angle(x)", "torch.ones(1, dtype=torch.complex64)",
        "[np.pi]", "atan2(+0, −0) is π (C99, F.9.1.4), and so does np.angle", 197586,
    ),
    TorchFault(
        "An expanded tensor is filled, compiled", "gives numbers that nobody wrote",
        "def f(x):\n    x.expand(3, -1).fill_(2.0)\n    return x", "torch.tensor([1.0, 5.0])", "[2, 2]",
        "Tensor.expand: “Expanding a tensor does not allocate new memory”", 197448,
    ),
    TorchFault(
        "argmin of a sum with a transposed matrix, compiled", "gives the place before it was transposed",
        "f = lambda x: (x.t() + 0.5).argmin()", "torch.tensor([[1.0, 0.0], [2.0, 3.0]])", "2",
        "the sum is [[1.5, 2.5], [0.5, 3.5]]; its smallest number is the third", 197739,
    ),
    TorchFault(
        "Writing to places that come twice, compiled", "adds once more at each",
        "def f(x):\n    i = torch.arange(x.numel()) % 2\n    x[i] = x[i] + 1\n    return x",
        "torch.tensor([1.0, 2.0, 3.0, 4.0])", "[2, 3, 3, 4]",
        "x[i] is read before it is written: [1, 2, 1, 2] + 1 is written to places 0, 1, 0, 1", 197582,
    ),
    TorchFault(
        "A class that says what its instances are, compiled", "does not ask it",
        "M = type('M', (type,), {'__instancecheck__': lambda cls, x: True})\nA = M('A', (), {})\n"
        "f = lambda x: x + 1 if isinstance(2.5, A) else x - 1",
        "torch.tensor([1.0])", "[2]", "PEP 3119: isinstance(x, C) calls C.__instancecheck__(x) first", 149991,
    ),
    TorchFault(
        "Gradient of logit at NaN, compiled", "gives 0",
        "f = lambda x: torch.autograd.grad(torch.logit(x, 0.1).sum(), x)[0]",
        "torch.tensor([torch.nan, 0.05, 0.5], requires_grad=True)", "[np.nan, 0, 4]",
        "the derivative of log(x / (1 - x)) is 1 / (x (1 - x)): NaN at NaN, 4 at 0.5; 0 at 0.05, which is clamped",
    ),
    _exported(
        "signbit of a negative zero, exported", "gives False", "f = lambda x: torch.signbit(x).float()",
        "torch.tensor([0.0, -0.0, -1.0])", "[0, 1, 1]",
        "signbit: “signbit handles signed zeros, so negative zero (-0) returns True.”",
    ),
    _exported(
        "logcumsumexp of distant numbers, exported", "gives minus infinity", "f = lambda x: torch.logcumsumexp(x, 0)",
        "torch.tensor([1.0, -200.0, 300.0, 4.0])", "[1, 1, 300, 300]",
        "e and e + e^−200 have the logarithm 1, and beside e^300 both are nothing",
    ),
    _exported(
        "logaddexp of large numbers, exported", "gives infinity", "f = lambda x: torch.logaddexp(x, x)",
        "torch.tensor([100.0, -10000.0])", "[100 + np.log(2), -10000 + np.log(2)]",
        "logaddexp: “where the calculated probabilities of events may be so small as to exceed the range of normal "
        "floating point numbers”",
    ),
)  # fmt: skip
