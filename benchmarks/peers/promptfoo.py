"""promptfoo with its echo provider: the answer and the names of the tools are the text, its assertions judge it.

It is a package of npm; it goes into the peers' environment together with the version of node that it asks for.
"""

import json
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

from benchmarks.comparison import Command, Comparison, UnavailableError
from benchmarks.generate import Shape, traces
from benchmarks.peers.shared_checks import SHARED_FAILURES, case_number, keywords_of, tools_of, write_cases
from benchmarks.workspace import Workspace, passed_traces

PACKAGE: Final = "promptfoo"
CHECKS: Final = "keywords, tools"
VERSION: Final = "0.123.1"
# Its database, and the node that it runs on; both are compiled, so each platform has packages of its own.
LIBSQL_VERSION: Final = "0.5.29"
NODE_VERSION: Final = "22.23.3"
_NODE_NAMES: Final = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
_LIBSQL_NAMES: Final = {"linux": "linux-{}-gnu", "darwin": "darwin-{}"}

# It ends with this code where a test fails.
_SOME_FAILED: Final = 100
_INSTALL_SECONDS: Final = 900


def comparison(place: Workspace, size: int) -> Comparison:
    """Each side reads the same traces in its own form; the pass count is of traces.

    Raises:
        UnavailableError: it is not installed and cannot be.
    """
    home = installed(place.peers / "npm")
    ours = place.traces(size, failures=SHARED_FAILURES) / "traces.jsonl"
    cases = place.made("cases-keywords-tools", lambda folder: write_cases(folder, 50, keywords=True)) / "cases.json"
    theirs = place.made(f"promptfoo-{size}", lambda folder: _write_config(folder, size))
    out = place.root / "out/promptfoo.json"
    return Comparison(
        ours=place.run("promptfoo", cases, ours, answer=passed_traces),
        theirs=Command(
            label=PACKAGE,
            argv=[
                str(home / f"node_modules/node-{_system()}-{_processor()}/bin/node"),
                str(home / "node_modules/promptfoo/dist/src/entrypoint.js"),
                *("eval", "--config", str(theirs / "promptfooconfig.json"), "--output", str(out)),
                *("--no-cache", "--no-write", "--no-table", "--no-progress-bar", "--no-share"),
            ],
            answer=lambda _: json.loads(out.read_bytes())["results"]["stats"]["successes"],
            cwd=theirs,
            env={
                "PROMPTFOO_CONFIG_DIR": str(place.root / "promptfoo-home"),
                "PROMPTFOO_DISABLE_TELEMETRY": "1",
                "PROMPTFOO_DISABLE_UPDATE": "1",
                "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
            },
            codes=frozenset({0, _SOME_FAILED}),
            makes=(out,),
        ),
    )


def _write_config(folder: Path, size: int) -> None:
    tests = [_test(trace) for trace in traces(size, Shape(failures=SHARED_FAILURES))]
    config = {"providers": ["echo"], "prompts": ["{{answer}}\n\nTools called: {{tools}}"], "tests": tests}
    (folder / "promptfooconfig.json").write_text(json.dumps(config, ensure_ascii=False), encoding="utf-8")


def _test(trace: dict[str, Any]) -> dict[str, Any]:
    case = case_number(trace)
    called = [call["toolName"] for call in trace["toolInvocations"]]
    return {
        "vars": {"answer": trace["finalAnswer"], "tools": " ".join(called)},
        "assert": [
            *({"type": "icontains-any", "value": group} for group in keywords_of(case)),
            {"type": "contains-all", "value": tools_of(case)},
        ],
    }


def installed(home: Path) -> Path:
    """The folder that it is installed in, by npm, once.

    Raises:
        UnavailableError: npm is absent, cannot fetch it, or there are no packages for this platform.
    """
    try:
        if json.loads((home / "node_modules/promptfoo/package.json").read_bytes())["version"] == VERSION:
            return home
    except OSError:
        pass
    npm = shutil.which("npm")
    if npm is None:
        raise UnavailableError("npm is not installed")
    if _system() not in _LIBSQL_NAMES:
        raise UnavailableError(f"no packages are known for {_system()}")
    home.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(  # noqa: S603 - fixed packages
            [
                *(npm, "install", "--prefix", str(home), "--omit=dev", "--omit=optional", "--ignore-scripts"),
                *("--no-audit", "--no-fund", "--loglevel=error"),
                f"promptfoo@{VERSION}",
                f"@libsql/{_LIBSQL_NAMES[_system()].format(_processor())}@{LIBSQL_VERSION}",
                f"node-{_system()}-{_processor()}@{NODE_VERSION}",
            ],
            check=True,
            capture_output=True,
            text=True,
            timeout=_INSTALL_SECONDS,
        )
    except subprocess.CalledProcessError as error:
        raise UnavailableError(f"npm could not install it: {error.stderr.strip()[-300:]}") from error
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"npm did not install it within {_INSTALL_SECONDS} s") from error
    return home


def _system() -> str:
    return platform.system().lower()


def _processor() -> str:
    machine = platform.machine().lower()
    return _NODE_NAMES.get(machine, machine)
