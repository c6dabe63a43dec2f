"""Tolerances from the limits in a profile, for `--tolerance FILE.toml`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from polycmp.compare import DetailedVerdict, Simple
from polycmp.errors import UsageError
from polycmp.model import Model
from polycmp.plan import to_words, without_written_files
from polycmp.runs import Resolved
from polycmp.tensors import Feed, to_numpy
from polycmp_checks.profiles.profile import Limit, Profile, model_digest, read_profile

if TYPE_CHECKING:
    from polycmp.compare import SimpleOptions


@dataclass(frozen=True)
class ProfileJudge(Simple):
    """Compare function that judges as `simple` does, by the limits of a profile.

    Where a profile cannot tell, what is equal passes, and what is beyond a limit that was measured has failed all the
    same: backends that are right are not so far apart.

    Args:
        limits: Limit of each output, by its name in the candidate.
        names: Names in the reference's model, by those in the candidate where they are called otherwise.
        remark: Returns a remark on failures, empty for none.
    """

    limits: Mapping[str, Limit] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    remark: Callable[[], str] = str

    def judge(self, candidate: NDArray[Any], reference: NDArray[Any], output: str) -> DetailedVerdict:
        """Return the verdict on one output."""
        limit = self.limits.get(self.names.get(output, output))
        atol, rtol = (limit.abs, limit.rel) if limit is not None else (0.0, 0.0)
        options = replace(self.options, atol={"": 0.0, output: atol}, rtol={"": 0.0, output: rtol}, scale_atol=False)
        verdict = Simple(options, self.detail).judge(candidate, reference, output)
        equal = verdict.passed and (verdict.stats is None or not verdict.stats.max_abs)
        why = "the profile has no limit for it" if limit is None else limit.cannot_tell
        if why and not equal and (verdict.passed or not atol):
            return replace(verdict, passed=False, reason=why, inconclusive="undecided")
        remark = "" if verdict.passed else self.remark()
        return replace(verdict, reason=f"{verdict.reason}; {remark}") if remark else verdict


class ProfileTolerances:
    """The tolerances of a profile, as `polycmp.runs.Tolerances` describes them.

    Args:
        resolved: The backends and their models.
        reference: Label of the reference; another than a backend's means the last backend.
        path: The profile.

    Raises:
        FileError: The profile cannot be read.
        UsageError: It was made for another model, or there is none.
    """

    def __init__(self, resolved: Resolved, reference: str, path: str) -> None:
        self._profile = read_profile(path)
        self._names = resolved.plan.compare.map_output
        self._remark = ""
        if not resolved.backends:
            raise UsageError(
                f"--tolerance {path} needs a backend",
                why="it holds for one model only, and saved runs do not tell theirs",
            )
        labels = [backend.label for backend in resolved.backends]
        model = resolved.backend(reference if reference in labels else labels[-1]).model
        digest = model_digest(model)
        if digest != self._profile.sha256:
            raise UsageError(
                "the tolerance profile was made for another model",
                whose=path,
                why=f"it is for {_known(self._profile)}, and the reference is {model.path} ({digest[:12]})",
                hint=_calibrate_command(resolved, model, path),
            )

    def begin(self, feed: Feed, outputs: Sequence[str] | None = None) -> None:
        """Begin the next inputs."""
        known = self._profile.inputs
        other = [name for name, array in feed.items() if name in known and to_numpy(array).shape != known[name]]
        shapes = " ".join(f"{name}:[{','.join(map(str, known[name]))}]" for name in other)
        self._remark = f"the limit was measured with other shapes of inputs, {shapes}" if other else ""

    def close(self) -> None:
        """Do nothing: nothing was run."""

    def judge(self, options: SimpleOptions, candidate: str, reference: str, /, *, detail: bool) -> ProfileJudge:
        """Return the compare function that judges by the profile."""
        return ProfileJudge(options, detail, self._profile.outputs, self._names, lambda: self._remark)


def _calibrate_command(resolved: Resolved, model: Model, path: str) -> str:
    """Return the command that measures the profile of a model, with those backends that run it."""
    registry, command = resolved.registry, ("calibrate",)
    backends = tuple(item.plan for item in resolved.backends if item.model.source == model.source)
    table = registry.load(registry.find_command(" ".join(command))).table_of(registry)
    plan = without_written_files(replace(resolved.plan, backends=backends))
    words = to_words(plan, registry, command=command, table=table)
    return shlex.join(["polycmp", *words, *([] if backends[1:] else ["-b", "BACKEND"]), "-o", path])


def _known(profile: Profile) -> str:
    return f"{profile.model} ({profile.sha256[:12]})"
