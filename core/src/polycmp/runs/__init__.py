"""Execution of backends: resolving the names of a plan, one loop over steps, comparers, inputs, arguments of hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp._inputs import PlanSource, RenamedFeeds, SampleFeeds, SampleFinder, Silent, asked_shapes, renamed_source
from polycmp.spec import lazy_names
from polycmp.tensors import Outputs

if TYPE_CHECKING:
    from polycmp.runs.backend_run import BackendRun, copy_outputs
    from polycmp.runs.buffer_reuse import sharing_memory
    from polycmp.runs.compare_functions import make_functions
    from polycmp.runs.comparers import Comparer, comparer_maker
    from polycmp.runs.environments import backend_environments, environment_differences
    from polycmp.runs.feedback import Feedback, FeedbackContext, open_feedback
    from polycmp.runs.input_readers import compare_readers
    from polycmp.runs.iterations import Iterations
    from polycmp.runs.jobs import Job, make_job, open_job
    from polycmp.runs.lacking import Alone, Ends, ends_of, outputs_alone
    from polycmp.runs.loop import Schedule, Step, copy_feed, open_feeds, run_steps
    from polycmp.runs.networks import CompareNetworks, NetworkDifferences
    from polycmp.runs.observers import Observers, RunStep
    from polycmp.runs.pairing import (
        InputPairing,
        Structure,
        ambiguous_inputs,
        check_given,
        renamed_input_notes,
        unmatched_input_notes,
    )
    from polycmp.runs.reference import choose_reference, labels_called
    from polycmp.runs.resolution import MakeSampleFinder, Resolved, resolve
    from polycmp.runs.resolved_backend import MakeWorker, ResolvedBackend, WorkerFacts
    from polycmp.runs.sizes import ShapeSearch
    from polycmp.runs.tolerances import Tolerances, is_measured, open_tolerances
    from polycmp.runs.trial import Arrays, Trial, open_trial
    from polycmp.runs.voting import odd_one_out
    from polycmp.runs.waiting import WaitingWorkers
    from polycmp.runs.windows import MANY_OUTPUTS, MakeWindows, Windows, all_in_memory_note, open_windows
    from polycmp.runs.workers import FindEnvironment, MakeEnvironments, MakeWorkers, open_environments

__all__ = [
    "MANY_OUTPUTS",
    "Alone",
    "Arrays",
    "BackendRun",
    "CompareNetworks",
    "Comparer",
    "Ends",
    "Feedback",
    "FeedbackContext",
    "FindEnvironment",
    "InputPairing",
    "Iterations",
    "Job",
    "MakeEnvironments",
    "MakeSampleFinder",
    "MakeWindows",
    "MakeWorker",
    "MakeWorkers",
    "NetworkDifferences",
    "Observers",
    "Outputs",
    "PlanSource",
    "RenamedFeeds",
    "Resolved",
    "ResolvedBackend",
    "RunStep",
    "SampleFeeds",
    "SampleFinder",
    "Schedule",
    "ShapeSearch",
    "Silent",
    "Step",
    "Structure",
    "Tolerances",
    "Trial",
    "WaitingWorkers",
    "Windows",
    "WorkerFacts",
    "all_in_memory_note",
    "ambiguous_inputs",
    "asked_shapes",
    "backend_environments",
    "check_given",
    "choose_reference",
    "compare_readers",
    "comparer_maker",
    "copy_feed",
    "copy_outputs",
    "ends_of",
    "environment_differences",
    "is_measured",
    "labels_called",
    "make_functions",
    "make_job",
    "odd_one_out",
    "open_environments",
    "open_feedback",
    "open_feeds",
    "open_job",
    "open_tolerances",
    "open_trial",
    "open_windows",
    "outputs_alone",
    "renamed_input_notes",
    "renamed_source",
    "resolve",
    "run_steps",
    "sharing_memory",
    "unmatched_input_notes",
]

if not TYPE_CHECKING:  # a worker needs the inputs alone, and few runs all of the rest
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "backend_run": ["BackendRun", "copy_outputs"],
            "buffer_reuse": ["sharing_memory"],
            "compare_functions": ["make_functions"],
            "comparers": ["Comparer", "comparer_maker"],
            "environments": ["backend_environments", "environment_differences"],
            "feedback": ["Feedback", "FeedbackContext", "open_feedback"],
            "input_readers": ["compare_readers"],
            "iterations": ["Iterations"],
            "jobs": ["Job", "make_job", "open_job"],
            "lacking": ["Alone", "Ends", "ends_of", "outputs_alone"],
            "loop": ["Schedule", "Step", "copy_feed", "open_feeds", "run_steps"],
            "networks": ["CompareNetworks", "NetworkDifferences"],
            "observers": ["Observers", "RunStep"],
            "pairing": [
                "InputPairing",
                "Structure",
                "ambiguous_inputs",
                "check_given",
                "renamed_input_notes",
                "unmatched_input_notes",
            ],
            "reference": ["choose_reference", "labels_called"],
            "resolution": ["MakeSampleFinder", "Resolved", "resolve"],
            "resolved_backend": ["MakeWorker", "ResolvedBackend", "WorkerFacts"],
            "sizes": ["ShapeSearch"],
            "tolerances": ["Tolerances", "is_measured", "open_tolerances"],
            "trial": ["Arrays", "Trial", "open_trial"],
            "voting": ["odd_one_out"],
            "waiting": ["WaitingWorkers"],
            "windows": ["MANY_OUTPUTS", "MakeWindows", "Windows", "all_in_memory_note", "open_windows"],
            "workers": ["FindEnvironment", "MakeEnvironments", "MakeWorkers", "open_environments"],
        },
    )
