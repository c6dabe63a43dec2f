"""Set-up before the stages: the sides to search, and the inputs."""
