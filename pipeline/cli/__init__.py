"""The command line. Each command parses, makes one library call, prints, and gives the exit code of the contract."""

import atexit
import gc
import os

# Importing and judging make many objects and hardly a cycle; looking for them as often as Python does by default takes
# a tenth of a small run.
gc.set_threshold(100_000, 50, 50)
# At the end Python would look for them in all that was ever imported: another tenth, for nothing.
atexit.register(gc.freeze)

# Polars' allocator keeps what was freed for a second before it gives it back, and that is 70 MB of a million traces. It
# reads this when it is first imported; what the user has set comes later and wins.
os.environ["_RJEM_MALLOC_CONF"] = ",".join(filter(None, ("muzzy_decay_ms:0", os.environ.get("_RJEM_MALLOC_CONF"))))

from pipeline.cli.app import build_app, main  # noqa: E402 - the imports are what is to be quicker

__all__ = ["build_app", "main"]
