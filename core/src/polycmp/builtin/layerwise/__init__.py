"""The tensors inside a model in bounded memory: a graph cut into windows, and backends that run them."""
