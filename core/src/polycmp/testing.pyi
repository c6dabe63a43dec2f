from polycmp_testing import *
