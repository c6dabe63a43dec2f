"""`polycmp_api.logger`, of the package `polycmp-api`, under the name by which programs know it."""

from __future__ import annotations

from polycmp.alias import stand_for

stand_for(__name__, "polycmp_api.logger")
