"""polycmp-trt."""
