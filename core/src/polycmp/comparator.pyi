from polycmp_api.comparator import *
