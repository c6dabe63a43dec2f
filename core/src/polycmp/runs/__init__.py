"""How backends run: one backend, one loop, inputs, saved runs."""
