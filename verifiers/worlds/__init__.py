"""Generated situations: workspaces and arguments made from the grammar of the evidence, for the oracles of ``generalises``."""
