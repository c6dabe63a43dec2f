"""All scenarios."""

from __future__ import annotations

from dataclasses import replace

from truth.pending import PENDING
from truth.scenario import Scenario
from truth.scenarios import clean, exports, faults, real

#: Every scenario, by name.
SCENARIOS: dict[str, Scenario] = {
    item.name: replace(item, pending=PENDING.get(item.name, ""))
    for item in (*clean.SCENARIOS, *faults.SCENARIOS, *real.SCENARIOS, *exports.SCENARIOS)
}
