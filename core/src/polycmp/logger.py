"""`G_LOGGER`, messages in the field's severities: `polycmp_api.logger` under the name by which programs know it.

It is in a package of its own: `pip install polycmp-api`.
"""

from __future__ import annotations

from polycmp.alias import stand_for

stand_for(__name__, "polycmp_api.logger")
