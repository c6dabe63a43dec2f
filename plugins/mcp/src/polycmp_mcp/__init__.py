"""polycmp for agents: a server of the Model Context Protocol, and a page on which command answers which symptom."""
