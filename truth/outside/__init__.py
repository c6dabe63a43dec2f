"""Truth that is not of our making: other people's models and tables, and what polycmp says of each."""
