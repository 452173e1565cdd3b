"""Case files to a suite: what is read, and what a case inherits."""

import errno
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.cases.fixtures import fixture_escapes
from pipeline.cases.load import load_suite
from pipeline.cases.model import (
    DEFAULT_DEGRADED_TEXTS,
    DEFAULT_PROTOCOL_MARKERS,
    Audit,
    Case,
    DegradedOutput,
    KnownFailure,
    MinPassRate,
    Origin,
    Pattern,
    Suite,
    ToolArguments,
    VerifierContract,
)
from pipeline.errors import Fault, UsageError

Load = Callable[..., Suite]

FULL = r"""
schemaVersion: 1
suite: mvp
verifierContract:
  verdicts: [OK, BAD]
protocolMarkers: [secret_v1]
redact: ['sk-[a-z0-9]+']
cases:
  - id: pool.1_A-b
    question: why?
    traceFixture: ./mysql//pool.json
    tags: [mysql, v2]
    rootCauseKeywords:
      - [connection pool, 连接池]
      - exhausted
      - {word: OOM}
      - {regex: "max_connections\\s*=\\s*\\d+", word: null}
      - [{word: a}, {regex: b}]
    minKeywordCoverage: 1
    requiredEvidenceTools: [queryMysqlStatus, [searchLogs, grep]]
    evidencePolicy: succeeded
    allowedVerdicts: [OK]
    requireVerdict: yes
    forbiddenVerdicts: [BAD]
    forbiddenAnswerKeywords: [restart]
    forbiddenConfirmedClaims: [confirmed]
    degradedOutput: {forbidden: [root cause is]}
    audit: {required: true, minClaimChecks: 2}
    knownFailure: {checks: [answer-present], reason: flaky}
    forbiddenTools: [dropTable]
    toolOrder: [a, b, a]
    toolArguments:
      - {tool: searchLogs, arguments: {query: null, limit: 10, deep: [1.5, {ok: true}]}, mode: null}
      - {tool: grep, mode: exact, arguments: {}}
    maxToolCalls: 5
    maxDurationMs: 1500
    maxTotalTokens: 1_000
    maxCostUsd: 0.25
    passPolicy: {minPassRate: 0.9}
"""
FULL_CASE = Case(
    id="pool.1_A-b",
    question="why?",
    trace_fixture="mysql/pool.json",
    tags=("mysql", "v2"),
    root_cause_keywords=(
        ("connection pool", "连接池"),
        "exhausted",
        Pattern(word="OOM"),
        Pattern(regex=r"max_connections\s*=\s*\d+"),
        (Pattern(word="a"), Pattern(regex="b")),
    ),
    min_keyword_coverage=1.0,
    required_evidence_tools=("queryMysqlStatus", ("searchLogs", "grep")),
    evidence_policy="succeeded",
    allowed_verdicts=("OK",),
    require_verdict=True,
    forbidden_verdicts=("BAD",),
    forbidden_answer_keywords=("restart",),
    forbidden_confirmed_claims=("confirmed",),
    degraded_output=DegradedOutput(required_any_of=DEFAULT_DEGRADED_TEXTS, forbidden=("root cause is",)),
    audit=Audit(required=True, min_claim_checks=2),
    known_failure=KnownFailure(checks=("answer-present",), reason="flaky"),
    forbidden_tools=("dropTable",),
    tool_order=("a", "b", "a"),
    tool_arguments=(
        ToolArguments(
            tool="searchLogs",
            arguments={"query": None, "limit": 10, "deep": [1.5, {"ok": True}]},
            mode="subset",
        ),
        ToolArguments(tool="grep", arguments={}, mode="exact"),
    ),
    max_tool_calls=5,
    max_duration_ms=1500.0,
    max_total_tokens=1000,
    max_cost_usd=0.25,
    pass_policy=MinPassRate(min_pass_rate=0.9),
    verifier_contract=VerifierContract(verdicts=("OK", "BAD")),
    protocol_markers=("secret_v1",),
)


def test_every_key_of_the_format(load: Load) -> None:
    expected = Suite(
        name="mvp",
        cases=(FULL_CASE,),
        redact=("sk-[a-z0-9]+",),
        files=("a.yaml",),
        origins={"pool.1_A-b": Origin(file="a.yaml", line=9, path="$.cases[0]")},
    )
    assert expected == load({"a.yaml": FULL})


MINIMAL = """\
schemaVersion: 1
suite: s
verifierContract: {head}
protocolMarkers: {head}
redact: {head}
defaults: {head}
cases:
  - {{id: a, question: q, rootCauseKeywords: [], requiredEvidenceTools: [], allowedVerdicts: [PASS]}}
"""


def test_suite_level_keys_that_are_null_are_the_defaults(load: Load) -> None:
    suite = load({"a.yaml": MINIMAL.format(head="null")})
    (case,) = suite.cases
    assert (VerifierContract(), DEFAULT_PROTOCOL_MARKERS, ()) == (
        case.verifier_contract,
        case.protocol_markers,
        suite.redact,
    )


# What is merged: name, defaults, the case, the attribute, its effective value.
MERGED: list[tuple[str, str, str, str, Any]] = [
    ("neither", "{}", "", "tags", ()),
    ("defaults only", "{tags: [d]}", "", "tags", ("d",)),
    ("case only", "{}", "tags: [c]", "tags", ("c",)),
    ("a list is replaced", "{tags: [d, e]}", "tags: [c]", "tags", ("c",)),
    ("an empty list is a value", "{tags: [d]}", "tags: []", "tags", ()),
    ("null restores the built-in default", "{tags: [d]}", "tags: null", "tags", ()),
    ("null in the defaults", "{tags: null}", "", "tags", ()),
    ("null in the defaults, a value in the case", "{tags: null}", "tags: [c]", "tags", ("c",)),
    ("question", "{question: d}", "", "question", "d"),
    ("a number", "{minKeywordCoverage: 0.5}", "", "min_keyword_coverage", 0.5),
    ("a number restored", "{minKeywordCoverage: 0.5}", "minKeywordCoverage: ~", "min_keyword_coverage", 1.0),
    ("a limit taken back", "{maxToolCalls: 5}", "maxToolCalls: null", "max_tool_calls", None),
    ("a policy restored", "{passPolicy: any}", "passPolicy: null", "pass_policy", "all"),
    (
        "a policy is replaced as a whole",
        "{passPolicy: {minPassRate: 0.5}}",
        "passPolicy: any",
        "pass_policy",
        "any",
    ),
    (
        "audit merges key by key",
        "{audit: {required: true, composer: true, minClaimChecks: 3}}",
        "audit: {composer: false, claimChecks: true}",
        "audit",
        Audit(required=True, composer=False, claim_checks=True, min_claim_checks=3),
    ),
    (
        "null restores one key of audit",
        "{audit: {required: true, minClaimChecks: 3}}",
        "audit: {minClaimChecks: null}",
        "audit",
        Audit(required=True),
    ),
    ("null restores all of audit", "{audit: {required: true}}", "audit: null", "audit", Audit()),
    (
        "an empty audit changes nothing",
        "{audit: {required: true}}",
        "audit: {}",
        "audit",
        Audit(required=True),
    ),
    ("null for a key of audit in the defaults", "{audit: {required: null}}", "", "audit", Audit()),
    (
        "null for audit in the defaults",
        "{audit: null}",
        "audit: {composer: true}",
        "audit",
        Audit(composer=True),
    ),
    (
        "degradedOutput merges key by key",
        "{degradedOutput: {requiredAnyOf: [d], forbidden: [x]}}",
        "degradedOutput: {forbidden: []}",
        "degraded_output",
        DegradedOutput(required_any_of=("d",), forbidden=()),
    ),
    (
        "null restores one key of degradedOutput",
        "{degradedOutput: {requiredAnyOf: [d], forbidden: [x]}}",
        "degradedOutput: {requiredAnyOf: null}",
        "degraded_output",
        DegradedOutput(forbidden=("x",)),
    ),
    (
        "knownFailure is replaced as a whole",
        "{knownFailure: {checks: [answer-present], reason: d}}",
        "knownFailure: {checks: [verdict-allowed], reason: c}",
        "known_failure",
        KnownFailure(checks=("verdict-allowed",), reason="c"),
    ),
    (
        "knownFailure taken back",
        "{knownFailure: {checks: [answer-present], reason: d}}",
        "knownFailure: null",
        "known_failure",
        None,
    ),
    (
        "toolArguments are replaced as a whole",
        "{toolArguments: [{tool: d, arguments: {a: 1}}]}",
        "toolArguments: [{tool: c, arguments: {}}]",
        "tool_arguments",
        (ToolArguments(tool="c", arguments={}),),
    ),
    ("no verdict required", "{requireVerdict: false}", "allowedVerdicts: []", "allowed_verdicts", ()),
    ("no verdict named at all", "{requireVerdict: false}", "allowedVerdicts: ~", "allowed_verdicts", ()),
]


@pytest.mark.parametrize(
    "defaults, own, attribute, expected", [row[1:] for row in MERGED], ids=[row[0] for row in MERGED]
)
def test_a_case_is_its_own_keys_over_defaults_over_the_built_in_ones(
    load: Load, defaults: str, own: str, attribute: str, expected: object
) -> None:
    keys = {
        "question": "q",
        "rootCauseKeywords": "[pool]",
        "requiredEvidenceTools": "[]",
        "allowedVerdicts": "[PASS]",
    }
    if attribute == "question":
        del keys["question"]
    own_key, _, own_value = own.partition(": ")
    written = {"id": "a"} | keys | ({own_key: own_value} if own else {})
    lines = "\n    ".join(f"{key}: {value}" for key, value in written.items())
    text = f"schemaVersion: 1\nsuite: s\ndefaults: {defaults}\ncases:\n  - {lines}\n"
    (case,) = load({"a.yaml": text}).cases
    assert expected == getattr(case, attribute)


def one_case(case_id: str, head: str = "", own: str = "") -> str:
    return (
        f"schemaVersion: 1\nsuite: s\n{head}cases:\n"
        f"  - {{id: {case_id}, question: q, rootCauseKeywords: [], requiredEvidenceTools: [],"
        f" requireVerdict: false{own}}}\n"
    )


def test_defaults_and_suite_level_keys_hold_for_their_own_file(load: Load) -> None:
    suite = load(
        {
            "a.yaml": one_case("a", "defaults: {tags: [x]}\nprotocolMarkers: [m]\nredact: [r1, r2]\n"),
            "b.yaml": one_case("b", "redact: [r3, r1]\n"),
        }
    )
    assert [(case.id, case.tags, case.protocol_markers) for case in suite.cases] == [
        ("a", ("x",), ("m",)),
        ("b", (), DEFAULT_PROTOCOL_MARKERS),
    ]
    assert suite.redact == ("r1", "r2", "r3")


def test_a_folder_is_its_case_files_by_name(load: Load) -> None:
    files: dict[str, str | bytes] = {
        "suite/b.yml": one_case("z"),
        "suite/a.yaml": one_case("b"),
        "suite/C.JSON": json.dumps(yaml.safe_load(one_case("a"))),
        "suite/.hidden.yaml": "not read: [",
        "suite/readme.md": "not read",
        "suite/deeper/d.yaml": "not read: [",
        "suite/folder.yaml/e.yaml": "not read: [",
    }
    suite = load(files, "suite/")
    assert suite.files == ("suite/C.JSON", "suite/a.yaml", "suite/b.yml")
    assert [case.id for case in suite.cases] == ["a", "b", "z"]


def test_a_file_reached_twice_is_read_once(load: Load) -> None:
    suite = load({"suite/a.yaml": one_case("a")}, "suite", "./suite/a.yaml")
    assert suite.files == ("suite/a.yaml",)


# Name, files, paths, message, hint.
NO_SUITE: list[tuple[str, dict[str, str | bytes], tuple[str, ...], str, str]] = [
    (
        "a missing file",
        {},
        ("cases/gone.yaml",),
        "There is no case file or folder cases/gone.yaml.",
        "Check the path; `--cases` names a case file or a folder of case files.",
    ),
    (
        "a path that no file system knows",
        {},
        ("a\x00b",),
        "There is no case file or folder a\\x00b.",
        "Check the path; `--cases` names a case file or a folder of case files.",
    ),
    (
        "another kind of file",
        {"cases.txt": ""},
        ("cases.txt",),
        "cases.txt is no case file.",
        "Case files end in .yaml, .yml, .json.",
    ),
    (
        "a folder without case files",
        {"cases/readme.md": ""},
        ("cases",),
        "There is no case file in the folder cases.",
        "Case files end in .yaml, .yml, .json and stand directly in the folder.",
    ),
]


@pytest.mark.parametrize("files, paths, message, hint", [row[1:] for row in NO_SUITE], ids=[row[0] for row in NO_SUITE])
def test_no_case_file(
    load: Load, files: dict[str, str | bytes], paths: tuple[str, ...], message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        load(files, *paths)
    assert (message, hint, 2) == (caught.value.message, caught.value.hint, caught.value.exit_code)


def test_a_folder_that_cannot_be_listed(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> Iterator[Path]:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(UsageError) as caught:
        load({"cases/a.yaml": ""}, "cases")
    assert str(caught.value) == "The folder cases cannot be read: Permission denied.\nCheck its permissions."


def test_no_path_at_all() -> None:
    with pytest.raises(UsageError) as caught:
        load_suite([], known_checks=())
    assert str(caught.value) == "No case file was given.\nName a case file or a folder of case files."


@pytest.fixture
def linked(load: Load, tmp_path: Path) -> Suite:
    """A suite whose case `out` names a link that leads out of `traces`, and `in` one that stays inside."""
    traces = tmp_path / "traces"
    (traces / "deep").mkdir(parents=True)
    (tmp_path / "secret.json").write_text("{}")
    (traces / "real.json").write_text("{}")
    (traces / "in.json").symlink_to("real.json")
    (traces / "out.json").symlink_to(tmp_path / "secret.json")
    (traces / "up").symlink_to(tmp_path)
    (traces / "loop.json").symlink_to("loop.json")
    fixtures = {
        "in": "in.json",
        "out": "out.json",
        "up": "up/secret.json",
        "loop": "loop.json",
        "gone": "gone.json",
    }
    return load(
        {f"{name}.yaml": one_case(name, own=f", traceFixture: {fixture}") for name, fixture in fixtures.items()}
        | {"none.yaml": one_case("none")}
    )


def test_a_link_out_of_the_traces_root_is_a_fault(linked: Suite) -> None:
    expected = [
        Fault(
            file=f"{case_id}.yaml",
            line=4,
            path="$.cases[0].traceFixture",
            expected="a file inside the traces root",
            found=f"{fixture}, a symbolic link out of traces",
            message=(
                f"The traceFixture of case {case_id} leaves the traces root;"
                " copy the file into the root instead of linking to it."
            ),
        )
        for case_id, fixture in (("out", "out.json"), ("up", "up/secret.json"))
    ]
    assert expected == fixture_escapes(linked, ["traces"])
    assert expected == fixture_escapes(linked, ["traces/real.json", "-"])


def test_a_root_that_is_a_link_itself_is_left_by_nothing(linked: Suite, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(tmp_path / "traces")
    assert [fault.file for fault in fixture_escapes(linked, ["alias"])] == ["out.yaml", "up.yaml"]
