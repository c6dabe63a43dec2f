"""Reports keep the contract."""

from __future__ import annotations

from polycmp.report.writers import write_json as write
from polycmp.testing import (
    ReportContract,
)


class TestJson(ReportContract):
    suffix = ".json"

    def make_report(self):
        return write
