"""`polycmp pipeline`: which stage of a pipeline goes wrong on equal inputs, and which stages only inherit."""
