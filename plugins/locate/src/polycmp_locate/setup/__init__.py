"""What comes before the stages: which sides are searched, and with which inputs."""
