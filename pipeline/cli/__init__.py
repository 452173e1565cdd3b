"""The command line. Each command parses, makes one library call, prints, and gives the exit code of the contract."""

from pipeline.cli.app import app, main

__all__ = ["app", "main"]
