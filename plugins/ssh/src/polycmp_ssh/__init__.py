"""polycmp's backends on other machines, through ssh."""
