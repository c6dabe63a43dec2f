"""Faults planted in files for phones and small devices, and what `polycmp locate` says of them."""
