"""Take arrays of the host and of the device alike."""

import numpy as np
from polygraphy.cuda import DeviceView


def to_host(array):
    return array.numpy() if isinstance(array, DeviceView) else np.asarray(array)


view = DeviceView(ptr=0, shape=(2, 3), dtype=np.float32)
print(to_host([1, 2]).tolist(), view.nbytes, view.shape, np.dtype(view.dtype).name, view.itemsize)
