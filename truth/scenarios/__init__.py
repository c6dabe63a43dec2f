"""All scenarios."""

from __future__ import annotations

from dataclasses import replace

from truth.host import recurs_in_both_directions
from truth.pending import PENDING
from truth.scenario import Scenario
from truth.scenarios import clean, exports, faults, real

#: Architectures with layers in both directions.
_BOTH_DIRECTIONS = {"lstm", "gru"}


def _as_here(scenario: Scenario) -> Scenario:
    """Return a scenario with why it is not yet judged rightly, and left out where ONNX's reference cannot run it."""
    on_reference = any(spec.partition(":")[0] == "onnx" for spec in (scenario.candidate, scenario.reference))
    scenario = replace(scenario, pending=PENDING.get(scenario.name, ""))
    if scenario.architecture in _BOTH_DIRECTIONS and on_reference and not recurs_in_both_directions():
        return replace(scenario, here=False, needs="onnx 1.23 or newer")
    return scenario


#: Every scenario, by name.
SCENARIOS: dict[str, Scenario] = {
    item.name: _as_here(item) for item in (*clean.SCENARIOS, *faults.SCENARIOS, *real.SCENARIOS, *exports.SCENARIOS)
}
