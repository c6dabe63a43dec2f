"""Inputs and outputs on disk: one interface for all formats, chosen by the path's suffix.

Formats come through the hook `polycmp_formats`; ours are in `polycmp.builtin.formats`. A path without a suffix is a
folder with one file an iteration, read and written one by one: `0000000000.npz`, or `0000000000.0.npz`,
`0000000000.1.npz` for the runners of one iteration of outputs. Folders of Polygraphy's `0000000000.json` are read too.
"""

from polycmp.results.reading import SavedInputs, SavedRun, open_inputs, open_runs
from polycmp.results.writing import InputsWriter, OutputsWriter, save_input_blob

__all__ = [
    "InputsWriter",
    "OutputsWriter",
    "SavedInputs",
    "SavedRun",
    "open_inputs",
    "open_runs",
    "save_input_blob",
]
