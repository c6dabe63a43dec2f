"""polycmp for Python programs: runners, inputs and compare functions of your own, and scripts made of a command."""
