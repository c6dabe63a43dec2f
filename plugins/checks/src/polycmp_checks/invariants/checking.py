"""Checking the invariants of every backend of a plan."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from polycmp.errors import PolycmpError, UsageError, describe_exception, is_users_failure
from polycmp.plan import Plan
from polycmp.runner import Runner
from polycmp.runs import FeedbackContext, ResolvedBackend, make_functions, open_feedback, resolve
from polycmp.session import check_names
from polycmp.tensors import Feed, TensorMetadata
from polycmp_checks.invariants.batch import Batch, DoesNotApplyError
from polycmp_checks.invariants.bench import Bench
from polycmp_checks.invariants.checks import CHECK_FUNCTIONS
from polycmp_checks.invariants.findings import BackendFindings, Check, InvariantFindings
from polycmp_checks.invariants.settings import CheckSettings

if TYPE_CHECKING:
    from polycmp.plugins import Registry

log = logging.getLogger("polycmp_checks.invariants")


def check_invariants(
    plan: Plan, registry: Registry, settings: CheckSettings, on_stage: Callable[[str], None] = lambda _: None
) -> InvariantFindings:
    """Check every backend of a plan against itself.

    Args:
        plan: Model, backends, inputs and compare functions.
        registry: The plugins.
        settings: Choice and settings of the checks.
        on_stage: Told in words what happens next.

    Returns:
        The findings; a backend that failed is part of them.

    Raises:
        PolycmpError: Nothing could be checked: wrong names, no model, no data.
    """
    findings = InvariantFindings(command=plan.command)
    for backend in plan.backends:
        subject = BackendFindings(backend.label, backend.backend)
        findings.subjects.append(subject)
        try:
            _check_backend(replace(plan, backends=(backend,)), registry, settings, subject, on_stage)
        except UsageError:
            raise
        except BaseException as error:
            if not is_users_failure(error):
                raise
            log.debug("%s failed", backend.label, exc_info=error)
            subject.error = describe_exception(error)
            subject.hint = error.hint if isinstance(error, PolycmpError) else ""
    return findings


def _check_backend(
    plan: Plan, registry: Registry, settings: CheckSettings, subject: BackendFindings, on_stage: Callable[[str], None]
) -> None:
    on_stage(f"activating {subject.label}")
    resolved = resolve(plan, registry)
    check_names(plan.data, plan.compare, resolved)
    [backend] = resolved.backends
    runner = backend.make_runner()
    runner.activate()
    try:
        bench = Bench(
            runner,
            resolved.source,
            settings,
            make_functions(plan.compare, registry),
            lambda threads: _with_threads(backend, threads),
            lambda feed: _fixed(backend, feed),
            open_feedback(FeedbackContext.of(plan), resolved),
        )
        subject.version = runner.backend_version
        bench.begin()  # a backend that cannot run the model at all has failed, not its checks
        subject.batch = bench.batch.words if isinstance(bench.batch, Batch) else ""
        for name in settings.checks:
            on_stage(f"{subject.label}: {name}")
            subject.checks.append(_make_check(name, bench))
    finally:
        runner.deactivate()


def _make_check(name: str, bench: Bench) -> Check:
    try:
        return CHECK_FUNCTIONS[name](bench)
    except DoesNotApplyError as reason:
        return Check(name, "skipped", str(reason))
    except UsageError:
        raise
    except BaseException as error:
        if not is_users_failure(error):
            raise
        log.debug("%s: %s could not be checked", bench.runner.name, name, exc_info=error)
        return Check(name, "error", f"could not be checked: {describe_exception(error)}")


def _with_threads(backend: ResolvedBackend, threads: int) -> Runner | None:
    """Return a runner of a backend with another number of threads; None if it has no option for them."""
    changed = backend.with_option(backend.tools.threads, threads) if backend.contribution else None
    return None if changed is None else changed.make_runner()


def _fixed(backend: ResolvedBackend, feed: Feed) -> Runner | None:
    """Return a runner of the model with the shapes of a feed written into it; None if that cannot be."""
    graph = backend.model.graph() if backend.runs_parts and not backend.plan.elsewhere else None
    if graph is None:
        return None
    part = graph.cut(TensorMetadata.from_feed_dict(feed), list(graph.outputs))
    return backend.make_runner(part, same_inputs=False)
