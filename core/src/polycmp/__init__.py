"""polycmp: does this model still compute what it should, on the backend I want to ship it on?

Importing this package does no work and loads no dependency; import the module you need, for example
`polycmp.comparator` or `polycmp.spec`.
"""

__version__ = "0.1.0.dev0"
