"""The issues, by what was wrong."""

from __future__ import annotations

from truth.history.issue import Issue
from truth.history.issues.bodies import BODIES
from truth.history.issues.converters import CONVERTERS
from truth.history.issues.functions import FUNCTIONS
from truth.history.issues.fusions import FUSIONS
from truth.history.issues.kernels import KERNELS
from truth.history.issues.openvino import OPENVINO
from truth.history.issues.others import OTHERS
from truth.history.issues.tools import TOOLS

ISSUES: tuple[Issue, ...] = (*KERNELS, *BODIES, *FUSIONS, *FUNCTIONS, *TOOLS, *CONVERTERS, *OPENVINO, *OTHERS)
