import os
import sys
from pathlib import Path

import pytest

from benchmarks.measure import CommandFailedError, descendants, measure, proportional_mb

needs_proc = pytest.mark.skipif(
    proportional_mb(os.getpid()) is None, reason="this system does not say how memory is shared"
)

HOLD_100_MB = "held = bytearray(b'x') * 100_000_000"


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


def test_what_a_command_prints_is_kept() -> None:
    usage = measure(python("print('é', 7)"), env={"PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1"})

    assert (usage.stdout, usage.exit_code) == ("é 7\n", 0)


def test_a_command_runs_in_the_folder_and_with_the_variables_given(tmp_path: Path) -> None:
    code = "import os; print(os.getcwd(), os.environ['GIVEN'])"

    assert measure(python(code), cwd=tmp_path, env={"GIVEN": "so"}).stdout == f"{tmp_path.resolve()} so\n"


def test_a_package_is_not_compiled_anew_at_every_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    # Not isolated as the others are: that would hide the variable.
    assert measure([sys.executable, "-c", "import sys; print(sys.dont_write_bytecode)"]).stdout == "False\n"


def test_another_exit_code_is_a_failure_that_repeats_the_last_words() -> None:
    with pytest.raises(CommandFailedError, match=r"ended with code 3: it broke$"):
        measure(python("import sys; sys.stderr.write('it broke\\n'); sys.exit(3)"))


def test_an_exit_code_that_is_allowed_is_none() -> None:
    assert measure(python("raise SystemExit(3)"), codes=frozenset({0, 3})).exit_code == 3


def test_a_command_that_a_signal_ends_has_failed() -> None:
    with pytest.raises(CommandFailedError, match=r"ended with code -9"):
        measure(python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))


def test_a_command_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandFailedError, match=r"^cannot start .*/absent: No such file or directory$"):
        measure([str(tmp_path / "absent")])


def test_a_command_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {'import time; time.sleep(600)'!r}])"

    with pytest.raises(CommandFailedError, match=r"took more than 0\.5 s"):
        measure(python(child), timeout_s=0.5)


def test_the_peak_of_memory_is_counted_though_it_was_given_back() -> None:
    usage = measure(python(f"{HOLD_100_MB}; del held"))

    assert 100 <= usage.memory_mb < 200


def test_processor_time_is_that_of_children_too() -> None:
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}], check=True)"

    assert measure(python(parent)).cpu_s >= 0.3


def test_the_memory_of_whoever_measures_is_not_counted() -> None:
    held = bytearray(b"x") * 100_000_000

    assert measure(python("")).memory_mb < 50
    assert len(held) == 100_000_000


@needs_proc
def test_the_memory_of_several_processes_at_one_time_is_added_up() -> None:
    # Each child says that it holds its memory, and lets go of it when the parent closes its input.
    child = f"{HOLD_100_MB}; print(1, flush=True); input()"
    parent = f"""
import subprocess, sys, time
children = [
    subprocess.Popen([sys.executable, "-c", {child!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for _ in range(2)
]
for one in children:
    one.stdout.readline()
time.sleep(1)
for one in children:
    one.communicate(b"\\n")
"""

    usage = measure(python(parent), look=True)

    assert usage.processes == 3
    assert 200 <= usage.memory_mb < 300
    assert usage.rss_mb < 150


@needs_proc
def test_the_memory_of_one_process_is_the_kernels_figure_though_it_was_looked_at() -> None:
    usage = measure(python(f"{HOLD_100_MB}; import time; time.sleep(0.2)"), look=True)

    assert (usage.processes, usage.memory_mb) == (1, usage.rss_mb)
    assert usage.pss_mb is not None


def test_a_process_that_is_no_more_has_no_descendants_and_no_memory() -> None:
    # Above the largest number that a process can have.
    gone = 2**22 + 1

    assert (list(descendants(gone)), proportional_mb(gone)) == ([gone], None)
