"""Execution of backends: resolving the names of a plan, one loop over steps, comparers, inputs, arguments of hooks."""

from __future__ import annotations

from polycmp._inputs import Reach, Reached, RenamedFeeds, Silent, asked_shapes, make_source, renamed_source
from polycmp.runs.backend_run import BackendRun, copy_outputs
from polycmp.runs.buffer_reuse import sharing
from polycmp.runs.compare_functions import make_functions, takes_any_shape
from polycmp.runs.comparers import Comparer, comparer_maker
from polycmp.runs.feedback import Feedback, Following, open_feedback
from polycmp.runs.input_readers import readers
from polycmp.runs.lacking import Alone, Ends, ends_of, outputs_alone
from polycmp.runs.loop import Pace, Step, copy_feed, open_feeds, run_steps
from polycmp.runs.observers import Observers, Observing, Outputs, RunStep
from polycmp.runs.pairing import InputPairing, Structure, alone_notes, check_given, fed_notes, uncertain
from polycmp.runs.resolution import MakeReach, Resolved, open_samples, resolve
from polycmp.runs.resolved_backend import MakeWorker, ResolvedBackend
from polycmp.runs.sizes import ShapeSearch
from polycmp.runs.tolerances import Tolerances, open_tolerances
from polycmp.runs.trial import Arrays, Trial, open_trial
from polycmp.runs.windows import MakeWindows, Windows, held_at_once, open_windows
from polycmp.runs.workers import FindEnvironment, MakeEnvironments, MakeWorkers, open_environments, open_workers

__all__ = [
    "Alone",
    "Arrays",
    "BackendRun",
    "Comparer",
    "Ends",
    "Feedback",
    "FindEnvironment",
    "Following",
    "InputPairing",
    "MakeEnvironments",
    "MakeReach",
    "MakeWindows",
    "MakeWorker",
    "MakeWorkers",
    "Observers",
    "Observing",
    "Outputs",
    "Pace",
    "Reach",
    "Reached",
    "RenamedFeeds",
    "Resolved",
    "ResolvedBackend",
    "RunStep",
    "ShapeSearch",
    "Silent",
    "Step",
    "Structure",
    "Tolerances",
    "Trial",
    "Windows",
    "alone_notes",
    "asked_shapes",
    "check_given",
    "comparer_maker",
    "copy_feed",
    "copy_outputs",
    "ends_of",
    "fed_notes",
    "held_at_once",
    "make_functions",
    "make_source",
    "open_environments",
    "open_feedback",
    "open_feeds",
    "open_samples",
    "open_tolerances",
    "open_trial",
    "open_windows",
    "open_workers",
    "outputs_alone",
    "readers",
    "renamed_source",
    "resolve",
    "run_steps",
    "sharing",
    "takes_any_shape",
    "uncertain",
]
