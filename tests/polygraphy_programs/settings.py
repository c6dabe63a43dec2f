"""Choose TensorRT for RTX, and the other settings, by variables before anything is imported.

Found in: NVIDIA/TensorRT tools/Polygraphy, what the documentation of its configuration says
"""

import os

os.environ["POLYGRAPHY_USE_TENSORRT_RTX"] = "1"
os.environ["POLYGRAPHY_ARRAY_SWAP_THRESHOLD_MB"] = "512"
os.environ["POLYGRAPHY_INSTALL_CMD"] = "python3 -m pip install --quiet"
os.environ["POLYGRAPHY_INTERNAL_CORRECTNESS_CHECKS"] = "0"

from polygraphy import config

print(config.USE_TENSORRT_RTX, config.ARRAY_SWAP_THRESHOLD_MB, config.INSTALL_CMD)
print(config.INTERNAL_CORRECTNESS_CHECKS, config.ASK_BEFORE_INSTALL, config.AUTOINSTALL_DEPS)
