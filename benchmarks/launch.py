"""Starts a command, waits for it, and writes down what it cost; run by `measure` as a small process of its own.

Linux counts the memory of whoever starts a program into that program's peak. The benchmark itself is larger than some
of the tools it measures, so this starts them: `python -I -S launch.py REPORT COMMAND…`. It imports next to nothing.
"""

import os
import sys
import time


def main(report: str, command: list[str]) -> int:
    """Run the command; `report` gets its seconds, processor seconds, peak resident set and wait status."""
    started = time.perf_counter()
    try:
        pid = os.posix_spawnp(command[0], command, os.environ)
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error.strerror}\n")
        return 1
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - started
    with open(report, "w", encoding="ascii") as lines:  # noqa: PTH123 - pathlib alone takes as much memory as the rest
        lines.write(f"{wall} {usage.ru_utime + usage.ru_stime} {usage.ru_maxrss} {status}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
