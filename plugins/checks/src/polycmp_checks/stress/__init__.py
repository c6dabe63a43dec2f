"""The data loader `stress`: inputs that find bugs."""
