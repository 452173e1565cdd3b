"""The command line. Each command parses, makes one library call, prints, and gives the exit code of the contract."""

import atexit
import gc

# Importing and judging make many objects and hardly a cycle; looking for them as often as Python does by default takes
# a tenth of a small run.
gc.set_threshold(100_000, 50, 50)
# At the end Python would look for them in all that was ever imported: another tenth, for nothing.
atexit.register(gc.freeze)

from pipeline.cli.app import build_app, main  # noqa: E402 - the imports are what is to be quicker

__all__ = ["build_app", "main"]
