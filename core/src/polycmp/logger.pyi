from polycmp_api.logger import *
