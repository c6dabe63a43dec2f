"""Ask whether what a downloader of models needs is there.

Found in: Triton Model Navigator, the downloader from torch hub
"""

try:
    from polygraphy.common import TensorMetadata
    from polygraphy.comparator import DataLoader

    have = True
except ImportError:
    have = False
print(have)
loader = DataLoader(input_metadata=TensorMetadata().add("x", dtype="float32", shape=(1, 2)), iterations=2, seed=3)
print([{name: array.round(4).tolist() for name, array in feed.items()} for feed in loader])
