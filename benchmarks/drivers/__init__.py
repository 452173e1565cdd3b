"""Scripts that run in an environment of their own and print what they found; see `Workspace.driver`."""
