"""Tensors that another program dumped, as a backend of polycmp; importing it stays cheap."""
