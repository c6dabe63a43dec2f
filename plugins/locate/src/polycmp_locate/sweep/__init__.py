"""The first stage: every tensor of the candidate beside the reference's."""
