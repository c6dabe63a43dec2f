"""Networks that no scenario has, by a dozen tools, sound and with a fault: what three commands say, in both orders.

    python -m truth.networks make          # writes the files, and what is true of each pair, below .cache/networks
    python -m truth.networks ask           # asks polycmp, and goes on where it was stopped
    python -m truth.networks write         # writes truth/networks/results.md

`make` needs torch 2.13, transformers 5.23, onnxruntime, onnxconverter-common, onnx-neural-compressor and prettytable,
which that imports, all on the package index; `ask` needs polycmp alone. What is true of a pair is written down before
polycmp is asked, by the runtime alone: `judging.py` has the rule.
"""
