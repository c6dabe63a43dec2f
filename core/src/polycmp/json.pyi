from polycmp_api.json import *
