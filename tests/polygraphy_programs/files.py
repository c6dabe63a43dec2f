"""Read, write and lock files as builders of engines with a cache do."""

import os

from polygraphy import util
from polygraphy.util import LockFile, load_file, save_file

path = os.path.join("cache", "timing.cache")
util.makedirs(path)
with LockFile(path):
    save_file(contents=b"cache", dest=path, description="tactic timing cache")
with LockFile(path):
    print(load_file(path, description="tactic timing cache"), util.get_file_size(path))
print(os.path.basename(util.add_file_suffix(path, "_fp16")), util.find_in_dirs("*.cache", ["nowhere", "cache"]))
print(util.default(None, 3), util.default(0, 3), util.unique_list([3, 1, 3]), util.volume((2, 3, 4)))
print(util.is_shape_dynamic([1, "n"]), util.is_shape_dynamic([-1]), util.is_shape_dynamic([2, 2]))
print(util.override_dynamic_shape(["n", 3, -1]), util.value_or_from_dict({"a": 1, "": 2}, "b"))
print(util.unpack_args((1, 2), 3), util.is_sequence([1]), util.is_sequence("a"))
