"""Files of inputs and outputs: whatever came, pickled. Good enough for a toy."""

from __future__ import annotations

import pickle

from polycmp.results import IterationResult, Stored, StoredRun


def read(path):
    """Return what a box holds."""
    kind, rows = pickle.loads(path.read_bytes())
    labels = dict.fromkeys(label for label, _, _ in rows)

    def reading(arrays, runtime, label):
        return lambda: IterationResult(arrays, runtime, label)

    return Stored(
        kind, [StoredRun(of, [reading(made, time, of) for label, made, time in rows if label == of]) for of in labels]
    )


class BoxWriter:
    """Keeps all until the end."""

    def __init__(self, file, kind, path):
        self._file, self._kind, self._rows = file, kind, []

    def add(self, label, arrays, runtime):
        self._rows.append((label, {name: array.copy() for name, array in arrays.items()}, runtime))

    def finish(self):
        pickle.dump((self._kind, self._rows), self._file)

    def discard(self):
        pass
