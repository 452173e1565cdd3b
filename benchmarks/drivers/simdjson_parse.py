"""Parses every line of a file of traces with simdjson, building nothing, and prints how many traces and tool calls."""

import json
import sys
from pathlib import Path

import simdjson  # type: ignore[import-not-found] # stands in the peers' environment alone


def main(file: str) -> None:
    """Parse and print."""
    parser = simdjson.Parser()
    traces = calls = 0
    with Path(file).open("rb") as lines:
        for line in lines:
            # One parser holds one document at a time: nothing of it may be left when the next is parsed.
            calls += len(parser.parse(line)["toolInvocations"])
            traces += 1
    sys.stdout.write(json.dumps([traces, calls]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
