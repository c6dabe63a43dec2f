"""Whether two files hold the same network, told without running either."""
