"""polycmp-pluginref."""
