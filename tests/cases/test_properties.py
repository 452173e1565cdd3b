"""What always holds for case files, whatever is in them."""

import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.cases.digest import case_definition, cases_digest
from pipeline.cases.load import load_suite
from pipeline.cases.model import Suite
from pipeline.errors import CaseFileError

# Every character: what YAML cannot hold as it is, its dumper escapes.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
WORDS = st.text(st.sampled_from("abcPQ连接 503.-_*'\":#&!%@`{}[],|>\n\t\u2028\u200b😀"), min_size=1, max_size=12)
NAMES = st.text(st.sampled_from("abcXYZ019_-. 连"), min_size=1, max_size=10).filter(lambda name: bool(name.strip()))
NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
FREE = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
KEYWORDS = WORDS.map(lambda word: f"k{word}") | st.builds(lambda word: {"word": f"w{word}"}, WORDS)
ENTRIES = st.lists(KEYWORDS | st.lists(KEYWORDS, min_size=1, max_size=3), max_size=3)
# Each drawn value is made anew, none is shared between examples: a test writes into them.
CASE_KEYS: dict[str, st.SearchStrategy[Any]] = {
    "question": WORDS.map(lambda word: f"q{word}"),
    "tags": st.lists(NAMES, max_size=2),
    "rootCauseKeywords": ENTRIES,
    "minKeywordCoverage": st.floats(0, 1) | st.sampled_from([0, 1]),
    "requiredEvidenceTools": st.lists(NAMES | st.lists(NAMES, min_size=1, max_size=2), max_size=2),
    "allowedVerdicts": st.lists(st.sampled_from(["PASS", "REVISE"]), min_size=1, max_size=2),
    "forbiddenVerdicts": st.builds(lambda: ["REJECT"]),
    "forbiddenAnswerKeywords": ENTRIES,
    "audit": st.fixed_dictionaries(
        {}, optional={"required": st.booleans(), "minClaimChecks": st.none() | st.integers(0, 9)}
    ),
    "degradedOutput": st.none() | st.builds(lambda word: {"forbidden": [f"d{word}"]}, WORDS),
    "knownFailure": st.none() | st.builds(lambda word: {"checks": ["known"], "reason": f"r{word}"}, WORDS),
    "toolArguments": st.lists(
        st.fixed_dictionaries({"tool": NAMES, "arguments": st.dictionaries(TEXTS, FREE, max_size=3)}), max_size=2
    ),
    "maxToolCalls": st.none() | st.integers(0, 2**63 - 1),
    "maxDurationMs": st.none() | st.floats(0, 1e300) | st.integers(0, 10**30),
    "passPolicy": st.sampled_from(["all", "any"]) | st.builds(lambda: {"minPassRate": 0.5}),
}
REQUIRED = ("question", "rootCauseKeywords", "requiredEvidenceTools", "allowedVerdicts")
CASES = st.fixed_dictionaries(
    {key: CASE_KEYS[key] for key in REQUIRED},
    optional={key: CASE_KEYS[key] for key in CASE_KEYS if key not in REQUIRED},
)
SUITES = st.builds(
    lambda cases, defaults: {
        "schemaVersion": 1,
        "suite": "s",
        "defaults": defaults,
        "cases": [{"id": f"c{number}", **case} for number, case in enumerate(cases)],
    },
    st.lists(CASES, min_size=1, max_size=3),
    st.fixed_dictionaries({}, optional=CASE_KEYS),
)


def load(name: str, content: bytes) -> Suite:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        return load_suite([str(path)], known_checks=["known"])


def refusal(name: str, content: bytes) -> CaseFileError | None:
    try:
        load(name, content)
    except CaseFileError as error:
        return error
    return None


def as_json(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


def as_yaml(document: object, *, flow: bool = False) -> bytes:
    # PyYAML writes the line ends of Unicode as they are and reads them as spaces, unless it has to escape them.
    readable = not set("\x85\u2028\u2029") & set(as_json(document).decode())
    dumped = yaml.safe_dump(document, allow_unicode=readable, default_flow_style=flow, sort_keys=False)
    return str(dumped).encode()


@settings(deadline=None, max_examples=40)
@given(document=SUITES, flow=st.booleans())
def test_a_suite_in_json_is_the_same_suite_in_yaml(document: dict[str, Any], flow: bool) -> None:
    from_json, from_yaml = load("a.json", as_json(document)), load("a.yaml", as_yaml(document, flow=flow))
    assert from_json.cases == from_yaml.cases
    assert cases_digest(from_json.cases) == cases_digest(from_yaml.cases)


@settings(deadline=None, max_examples=40)
@given(document=SUITES)
def test_a_definition_reads_back_as_the_case_it_defines(document: dict[str, Any]) -> None:
    for case in load("a.json", as_json(document)).cases:
        definition = case_definition(case)
        assert definition == case_definition(msgspec.json.decode(definition, type=type(case)))


@settings(deadline=None, max_examples=40)
@given(document=SUITES, data=st.data())
def test_the_digest_is_blind_to_key_order_and_to_the_split_into_files(
    document: dict[str, Any], data: st.DataObject
) -> None:
    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shuffled(value[key]) for key in data.draw(st.permutations(list(value)))}
        return [shuffled(one) for one in value] if isinstance(value, list) else value

    whole = load("a.json", as_json(document))
    parts = [
        case
        for case in data.draw(st.permutations(document["cases"]))
        for case in load("a.yaml", as_yaml(shuffled({**document, "cases": [case]}))).cases
    ]
    assert cases_digest(whole.cases) == cases_digest(parts)


@settings(deadline=None, max_examples=40)
@given(
    name=st.sampled_from(["a.yaml", "a.json"]),
    content=st.binary(max_size=200)
    | st.text(st.sampled_from("ab:-[]{}&*!<>|#'\"\\ \n\t,?=.~019xuUn\x00\ufeff\u2028😀"), max_size=60).map(str.encode),
)
def test_any_bytes_are_a_suite_or_faults(name: str, content: bytes) -> None:
    error = refusal(name, content)
    if error is not None:
        assert error.exit_code == 2
        assert all(character.isprintable() or character == "\n" for character in str(error))


# Values of every kind, the ones that belong somewhere in a case file among them.
ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", " ", "*", "PASS", "all", "known", "../x", "a.json", "(", "a*", "\x00", "ok"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["word", "regex", "tool", "arguments", "mode", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=40)
@given(document=SUITES, data=st.data())
def test_any_value_anywhere_is_a_suite_or_faults_with_places(document: dict[str, Any], data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        target: Any = document
        while True:
            steps = list(target) if isinstance(target, dict) else list(range(len(target)))
            step = data.draw(st.sampled_from(steps) if steps else st.just(None))
            deeper = step is not None and isinstance(target[step], (dict, list)) and bool(target[step])
            if step is None:
                break
            if not deeper or data.draw(st.booleans()):
                target[step] = data.draw(ODD)
                break
            target = target[step]
        if not isinstance(document.get("cases"), list):
            break
    for name, content in (("a.json", as_json(document)), ("a.yaml", as_yaml(document))):
        error = refusal(name, content)
        for fault in error.faults if error is not None else ():
            assert fault.line is not None
            assert fault.path.startswith("$")
            assert "" not in {fault.expected, fault.found, fault.message}
