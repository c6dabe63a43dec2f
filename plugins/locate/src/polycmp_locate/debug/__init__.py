"""What the commands under `polycmp debug` share: the check, sorted artifacts, and steps that can be repeated."""
