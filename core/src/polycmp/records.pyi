# For type checkers it is the standard library's.
from dataclasses import dataclass as dataclass
