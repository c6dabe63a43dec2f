from polycmp_api.func import *
