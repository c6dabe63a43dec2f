"""Types of what a program hands over to be compared."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from numpy.typing import ArrayLike

#: Outputs of one model call: arrays by name. Tuples and lists in it stand for outputs that are numbered.
Outputs: TypeAlias = Mapping[str, "ArrayLike | Sequence[ArrayLike] | None"]
#: A file or folder of outputs, one array, outputs by name, or a list of such outputs, one for each input.
Data: TypeAlias = "str | os.PathLike[str] | ArrayLike | Outputs | Sequence[Outputs] | Iterable[Outputs]"
