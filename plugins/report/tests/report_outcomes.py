"""Outcomes for the tests of reports, made by comparing real arrays."""

from __future__ import annotations

import numpy as np
from judges import simple

from polycmp.compare.pair import PairComparer
from polycmp.results.outcome import BackendResult, Invalid, Outcome, Timing, describe_environment
from polycmp.tensors import TensorMetadata

SPITEFUL = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&\x00|::error::\n%"


def outcome_of(candidate, reference, *, label="candidate", **changes):
    """Return the outcome of comparing two mappings of outputs."""
    comparer = PairComparer(label, "reference", {"simple": simple(detail=True)})
    comparer.add(candidate, reference)
    backends = [
        BackendResult(name, "toy", "1.2", {"threads": "2"}, "model.onnx", 1, Timing.of([3e-3, 1e-3, 2e-3]))
        for name in (label, "reference")
    ]
    outcome = Outcome(
        reference="reference",
        backends=backends,
        comparisons=[comparer.result()],
        expected=True,
        inputs=TensorMetadata.from_feed_dict({"x": np.zeros((2, 3), np.float32)}),
        command="polycmp run model.onnx -b toy -b reference",
        environment=describe_environment(),
        seconds=0.25,
    )
    for name, value in changes.items():
        setattr(outcome, name, value)
    return outcome


def passing(name="y"):
    values = np.linspace(0, 1, 50, dtype=np.float32).reshape(5, 10)
    return outcome_of({name: values + np.float32(1e-7)}, {name: values})


def failing(name="y"):
    values = np.linspace(0, 1, 50, dtype=np.float32).reshape(5, 10)
    wrong = values.copy()
    wrong[2, 3] += 0.5
    return outcome_of({"good": values, name: wrong}, {"good": values, name: values})


def erroneous(text="it fell over"):
    outcome = failing()
    outcome.backends.insert(0, BackendResult(f"broken {text}", "toy", error=text, hint=f"try {text}"))
    outcome.invalid.append(Invalid("candidate", text, 0, 3, 1, (0, 2)))
    outcome.notes.append(f"note {text}")
    return outcome
