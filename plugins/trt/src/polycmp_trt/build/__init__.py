"""Building: networks, configurations, profiles, calibration, timings, tactics, and the engines made of them."""
