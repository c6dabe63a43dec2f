"""Start recording in a Python interpreter, which imports this module by itself when it starts.

The program may run in another environment and with another Python than polycmp, from 3.8: nothing is imported here but
the standard library, and by `polycmp_record_hook` NumPy once the program has it. Each process of the program pays for
what is imported here, so that is little.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib takes longer than all the rest


def _start() -> None:
    """Import the hook, which lies beside this module, and take the folder away from the program's path."""
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        if sys.version_info >= (3, 8):  # noqa: UP036 - the program chooses its Python, not polycmp
            __import__("polycmp_record_hook").start()
    finally:
        sys.dont_write_bytecode = writes
        sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]  # noqa: PTH100


def _give_way() -> None:
    """Import the module `sitecustomize` that this one hides, if there is one."""
    ours = sys.modules.pop("sitecustomize")
    try:
        __import__("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = ours


try:
    _start()
except Exception as error:  # noqa: BLE001 - the program runs whatever happens here
    sys.stderr.write(f"polycmp record: this process is not recorded: {type(error).__name__}: {error}\n")
_give_way()
