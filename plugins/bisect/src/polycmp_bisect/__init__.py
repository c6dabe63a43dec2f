"""The first release, file or optimiser pass that changed what a model computes, found by halving."""
