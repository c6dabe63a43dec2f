"""Check of whether a decoder writes worse than another one, token by token."""
