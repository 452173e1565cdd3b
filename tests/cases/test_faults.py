"""Every fault of a case file, exactly as a user sees it."""

from collections.abc import Callable

import pytest

from pipeline.cases.declared import keys_of
from pipeline.cases.model import CaseEntry, CaseFile, Expectations
from pipeline.errors import Fault

Refuse = Callable[..., list[Fault]]

# Lines 1 to 8; what a row adds to the case stands on line 9.
CASE = """\
schemaVersion: 1
suite: s
cases:
  - id: a
    question: why?
    rootCauseKeywords: [pool]
    requiredEvidenceTools: []
    allowedVerdicts: [PASS]
"""

TEXT_LEFT = "text of which something is left when it is compared"
NOTHING_LEFT = (
    "Nothing of the text is left once marks and white space are taken away, so that every answer would"
    " contain it; write a keyword, or remove it."
)
NAME = "text without control or invisible characters"
REGEX = "a regex in Polars' (Rust) syntax that does not match the empty text"
COUNT = "a whole number (0 or more) or null"
AMOUNT = "a number (0 or more) or null"
WRONG_TYPE = "The value has the wrong type; write what is expected."
NOT_FINITE = "The number is not finite, or too large; write one that is finite."
NO_QUOTES = "Write a number without quotes, in plain digits (YAML reads 1e3 as text)."
UNKNOWN_VERSION = (
    "This version of the format is not known; write 1, the one that is, "
    "or use the diagnosis-eval that the file was written for."
)
OUT_OF_RANGE = "The number is out of range; correct it."
BLANK = "The text is blank; write something, or remove it."
BASE = "YAML reads this in base 8 or 60; write plain decimal digits, or quote it where text is due."
EMPTY_LIST = "The list is empty; add an entry."
UNUSABLE_FIXTURE = "The traceFixture cannot be used: "
CASE_KEYS = f"one of the keys {', '.join(keys_of(CaseEntry))}"

# The line added to the case, and the fault: path below the case, expected, found, message.
IN_A_CASE = [
    # unknown keys, keys given twice, keys that are no text
    (
        "maxToolCall: 3",
        ".maxToolCall",
        CASE_KEYS,
        "the key maxToolCall",
        "There is no such key; did you mean maxToolCalls?",
    ),
    (
        "max_tool_calls: 3",
        ".max_tool_calls",
        CASE_KEYS,
        "the key max_tool_calls",
        "There is no such key; did you mean maxToolCalls?",
    ),
    ("TAGS: []", ".TAGS", CASE_KEYS, "the key TAGS", "There is no such key; did you mean tags?"),
    ("zzz: 3", ".zzz", CASE_KEYS, "the key zzz", "There is no such key; remove it."),
    ('"a b": 3', '["a b"]', CASE_KEYS, "the key a b", "There is no such key; remove it."),
    (
        "redact: []",
        ".redact",
        CASE_KEYS,
        "the key redact",
        "This key holds for the whole file; move it to the top level.",
    ),
    (
        "audit: {requird: true}",
        ".audit.requird",
        (
            "one of the keys required, claimChecks, minClaimChecks, composer, claimBindings,"
            " maxUnsupportedClaims, noUnsupportedClaimText"
        ),
        "the key requird",
        "There is no such key; did you mean required?",
    ),
    (
        "question: again",
        ".question",
        "each key once",
        "question again, first on line 5",
        "The key is given twice, so that one of its values would be lost; remove one.",
    ),
    (
        "toolArguments: [{tool: t, arguments: {a: {b: 1, b: 1}}}]",
        ".toolArguments[0].arguments.a.b",
        "each key once",
        "b again, first on line 9",
        "The key is given twice, so that one of its values would be lost; remove one.",
    ),
    ("NO: 1", "", "a key that is text", "NO (boolean)", "YAML does not read this key as text; quote it."),
    ("503: 1", "", "a key that is text", "503 (integer)", "YAML does not read this key as text; quote it."),
    ("~: 1", "", "a key that is text", "~ (null)", "YAML does not read this key as text; quote it."),
    ("? [a]", "", "a key that is text", "a collection", "YAML does not read this key as text; quote it."),
    (
        "<<: {tags: [a]}",
        "",
        "a key that is text",
        "the merge key <<",
        "Merge keys are not part of the case format; write the keys out, or use `defaults`.",
    ),
    # wrong types
    ("tags: x", ".tags", "a list", 'the text "x"', WRONG_TYPE),
    ("tags: [[x]]", ".tags[0]", "text", "a list of 1", WRONG_TYPE),
    ("audit: []", ".audit", "an object", "an empty list", WRONG_TYPE),
    ("audit: {required: 'yes'}", ".audit.required", "true or false", 'the text "yes"', WRONG_TYPE),
    ("requireVerdict: 1", ".requireVerdict", "true or false", "the number 1", WRONG_TYPE),
    ("maxToolCalls: 5.0", ".maxToolCalls", COUNT, "the number 5.0", WRONG_TYPE),
    ("maxToolCalls: true", ".maxToolCalls", COUNT, "the boolean true", WRONG_TYPE),
    (
        "minKeywordCoverage: true",
        ".minKeywordCoverage",
        "a number from 0 to 1",
        "the boolean true",
        WRONG_TYPE,
    ),
    ("passPolicy: [all]", ".passPolicy", "all, any or an object {minPassRate}", "a list of 1", WRONG_TYPE),
    (
        "toolArguments: [{tool: t, arguments: []}]",
        ".toolArguments[0].arguments",
        "an object",
        "an empty list",
        WRONG_TYPE,
    ),
    (
        "maxCostUsd: 1e3",
        ".maxCostUsd",
        AMOUNT,
        'the text "1e3"',
        NO_QUOTES,
    ),
    ("tags: [null]", ".tags[0]", "text", "null", "There is no value here; write one, or remove the entry."),
    (
        "evidencePolicy: 1",
        ".evidencePolicy",
        "invoked or succeeded",
        "the number 1",
        'YAML reads 1 as a number; quote it: "1".',
    ),
    (
        "evidencePolicy: invokd",
        ".evidencePolicy",
        "invoked or succeeded",
        'the text "invokd"',
        "The value is not known; did you mean invoked?",
    ),
    (
        "passPolicy: sometimes",
        ".passPolicy",
        "all, any or an object {minPassRate}",
        'the text "sometimes"',
        "The value is not known; use one that is expected.",
    ),
    (
        "passPolicy: {}",
        ".passPolicy.minPassRate",
        "a number from 0 to 1",
        "nothing",
        "The key minPassRate is missing; add it.",
    ),
    (
        "toolArguments: [{tool: t}]",
        ".toolArguments[0].arguments",
        "an object",
        "nothing",
        "The key arguments is missing; add it.",
    ),
    # numbers
    (
        "minKeywordCoverage: 1.5",
        ".minKeywordCoverage",
        "a number from 0 to 1",
        "the number 1.5",
        OUT_OF_RANGE,
    ),
    (
        "minKeywordCoverage: -0.1",
        ".minKeywordCoverage",
        "a number from 0 to 1",
        "the number -0.1",
        OUT_OF_RANGE,
    ),
    (
        "minKeywordCoverage: .nan",
        ".minKeywordCoverage",
        "a number from 0 to 1",
        "the number .nan",
        NOT_FINITE,
    ),
    (
        "passPolicy: {minPassRate: 2}",
        ".passPolicy.minPassRate",
        "a number from 0 to 1",
        "the number 2",
        OUT_OF_RANGE,
    ),
    ("maxToolCalls: -1", ".maxToolCalls", COUNT, "the number -1", OUT_OF_RANGE),
    (
        "maxToolCalls: 9223372036854775808",
        ".maxToolCalls",
        COUNT,
        "the number 9223372036854775808",
        OUT_OF_RANGE,
    ),
    ("maxToolCalls: 010", ".maxToolCalls", COUNT, "010, which YAML reads as 8", BASE),
    ("maxDurationMs: 1:30", ".maxDurationMs", AMOUNT, "1:30, which YAML reads as 90", BASE),
    ("maxDurationMs: .inf", ".maxDurationMs", AMOUNT, "the number .inf", NOT_FINITE),
    ("maxDurationMs: -.inf", ".maxDurationMs", AMOUNT, "the number -.inf", NOT_FINITE),
    ("maxDurationMs: 1.0e+999", ".maxDurationMs", AMOUNT, "the number 1.0e+999", NOT_FINITE),
    (
        f"maxDurationMs: {10**320}",
        ".maxDurationMs",
        AMOUNT,
        f"the number {str(10**320)[:160]}… (321 characters)",
        NOT_FINITE,
    ),
    (
        "toolArguments: [{tool: t, arguments: {a: [.inf]}}]",
        ".toolArguments[0].arguments.a[0]",
        "a finite number",
        "the number .inf",
        NOT_FINITE,
    ),
    (
        "toolArguments: [{tool: t, arguments: {since: 2024-01-01}}]",
        ".toolArguments[0].arguments.since",
        "a value that JSON knows",
        "the date 2024-01-01",
        'YAML reads 2024-01-01 as a date; quote it: "2024-01-01".',
    ),
    # texts
    ('tags: [""]', ".tags[0]", NAME, 'the text ""', BLANK),
    ('tags: [" "]', ".tags[0]", NAME, 'the text " "', BLANK),
    (
        'forbiddenTools: ["a\\nb"]',
        ".forbiddenTools[0]",
        NAME,
        'the text "a\\nb"',
        "The text holds a character that may not stand here; remove it.",
    ),
    (
        'requiredEvidenceTools: ["a\\u200b"]',
        ".requiredEvidenceTools[0]",
        NAME,
        'the text "a\\u200b"',
        "The text holds a character that may not stand here; remove it.",
    ),
    # keywords
    ('forbiddenAnswerKeywords: [""]', ".forbiddenAnswerKeywords[0]", "text", 'the text ""', BLANK),
    (
        'forbiddenAnswerKeywords: ["**"]',
        ".forbiddenAnswerKeywords[0]",
        TEXT_LEFT,
        'the text "**"',
        NOTHING_LEFT,
    ),
    (
        'forbiddenConfirmedClaims: [[ok, {word: "\\u200b"}]]',
        ".forbiddenConfirmedClaims[0][1].word",
        TEXT_LEFT,
        'the text "\\u200b"',
        NOTHING_LEFT,
    ),
    (
        'degradedOutput: {requiredAnyOf: ["`"]}',
        ".degradedOutput.requiredAnyOf[0]",
        TEXT_LEFT,
        'the text "`"',
        NOTHING_LEFT,
    ),
    (
        "forbiddenAnswerKeywords: [[]]",
        ".forbiddenAnswerKeywords[0]",
        "a list that is not empty",
        "an empty list",
        EMPTY_LIST,
    ),
    (
        "forbiddenAnswerKeywords: [[[x]]]",
        ".forbiddenAnswerKeywords[0][0]",
        "text or an object {word, regex}",
        "a list of 1",
        WRONG_TYPE,
    ),
    (
        "forbiddenAnswerKeywords: [{}]",
        ".forbiddenAnswerKeywords[0]",
        "an object with exactly one of word and regex",
        "an empty object",
        "The keyword says nothing; give it a word or a regex.",
    ),
    (
        "forbiddenAnswerKeywords: [{word: a, regex: b}]",
        ".forbiddenAnswerKeywords[0]",
        "an object with exactly one of word and regex",
        "an object with the keys word, regex",
        "The keyword is both a word and a regex; make two entries of it.",
    ),
    (
        'forbiddenAnswerKeywords: [{regex: " "}]',
        ".forbiddenAnswerKeywords[0].regex",
        "text",
        'the text " "',
        BLANK,
    ),
    (
        'forbiddenAnswerKeywords: [{regex: "("}]',
        ".forbiddenAnswerKeywords[0].regex",
        REGEX,
        'the text "("',
        "The regex cannot be used: unclosed group. Correct it.",
    ),
    (
        'forbiddenAnswerKeywords: [{regex: "(?=a)"}]',
        ".forbiddenAnswerKeywords[0].regex",
        REGEX,
        'the text "(?=a)"',
        ("The regex cannot be used: look-around, including look-ahead and look-behind, is not supported. Correct it."),
    ),
    (
        'forbiddenAnswerKeywords: [{regex: "(a{999}){999}{999}"}]',
        ".forbiddenAnswerKeywords[0].regex",
        REGEX,
        'the text "(a{999}){999}{999}"',
        "The regex cannot be used: Compiled regex exceeds size limit of 10485760 bytes. Correct it.",
    ),
    *(
        (
            f"forbiddenAnswerKeywords: [{{regex: '{pattern}'}}]",
            ".forbiddenAnswerKeywords[0].regex",
            REGEX,
            f'the text "{pattern}"',
            "The regex cannot be used: it matches the empty text, and so every text. Correct it.",
        )
        for pattern in ("a*", "a|", "^", "^$", r"\b")
    ),
    # verdicts
    (
        "forbiddenVerdicts: [REVIS]",
        ".forbiddenVerdicts[0]",
        "one of PASS, REVISE, REJECT",
        'the text "REVIS"',
        "The Verifier has no such verdict; did you mean REVISE?",
    ),
    (
        "forbiddenVerdicts: [UNSURE]",
        ".forbiddenVerdicts[0]",
        "one of PASS, REVISE, REJECT",
        'the text "UNSURE"',
        "The Verifier has no such verdict; correct it, or add it to verifierContract.verdicts.",
    ),
    (
        "forbiddenVerdicts: [REVISE, PASS]",
        ".forbiddenVerdicts[1]",
        "a verdict that is allowed or forbidden, not both",
        'the text "PASS"',
        "The verdict is both allowed and forbidden (lines 8 and 9); remove it from one of the two lists.",
    ),
    # known failures
    (
        "knownFailure: {checks: [verdict-alowed], reason: r}",
        ".knownFailure.checks[0]",
        "the id of a check",
        'the text "verdict-alowed"',
        "There is no such check; did you mean verdict-allowed?",
    ),
    (
        "knownFailure: {checks: [zzz], reason: r}",
        ".knownFailure.checks[0]",
        "the id of a check",
        'the text "zzz"',
        "There is no such check; the checks page of the docs lists them.",
    ),
    (
        "knownFailure: {checks: [], reason: r}",
        ".knownFailure.checks",
        "a list that is not empty",
        "an empty list",
        EMPTY_LIST,
    ),
    (
        "knownFailure: {checks: [answer-present]}",
        ".knownFailure.reason",
        "text",
        "nothing",
        "The key reason is missing; add it.",
    ),
    # fixtures
    *(
        (
            f"traceFixture: '{fixture}'",
            ".traceFixture",
            "a file below the traces root",
            f'the text "{fixture}"',
            UNUSABLE_FIXTURE + reason,
        )
        for fixture, reason in (
            ("/x.json", "it is absolute; write it relative to the traces root."),
            ("C:/x.json", "it is absolute; write it relative to the traces root."),
            ("C:\\x.json", "it has a backslash; write / between folders."),
            ("a\\b.json", "it has a backslash; write / between folders."),
            ("../x.json", "it leaves the traces root; write it relative to that root, without any `..`."),
            (
                "a/../../x.json",
                "it leaves the traces root; write it relative to that root, without any `..`.",
            ),
            ("a/", "it names a folder; name a file."),
            (".", "it names a folder; name a file."),
        )
    ),
    # YAML's own things
    (
        "audit: !!set {}",
        ".audit",
        "a value without a YAML tag, or with one that fits it",
        "!!set",
        "The case format knows no such YAML tag here; remove it.",
    ),
    (
        "knownFailure: {checks: [answer-present], reason: !!binary aGk=}",
        ".knownFailure.reason",
        "a value without a YAML tag, or with one that fits it",
        "!!binary",
        "The case format knows no such YAML tag here; remove it.",
    ),
    (
        "tags: [!!int abc]",
        ".tags[0]",
        "a value without a YAML tag, or with one that fits it",
        "!!int abc",
        "The case format knows no such YAML tag here; remove it.",
    ),
    (
        "tags: !!python/object/apply:os.system [id]",
        ".tags",
        "a value without a YAML tag, or with one that fits it",
        "!!python/object/apply:os.system",
        "The case format knows no such YAML tag here; remove it.",
    ),
]


def case_with(line: str) -> str:
    """The template with a line added; a key that it has already gives way, unless it is to be doubled."""
    key = line.partition(":")[0]
    lines = [one for one in CASE.splitlines() if key == "question" or not one.strip().startswith(f"{key}:")]
    return "\n".join([*lines, f"    {line}", ""])


@pytest.mark.parametrize("row", IN_A_CASE, ids=[row[0][:50] for row in IN_A_CASE])
def test_fault_in_a_case(refuse: Refuse, row: tuple[str, str, str, str, str]) -> None:
    line, path, expected, found, message = row
    text = case_with(line)

    wanted = Fault(
        file="a.yaml",
        line=text.count("\n"),
        path=f"$.cases[0]{path}",
        expected=expected,
        found=found,
        message=message,
    )
    assert [wanted] == refuse({"a.yaml": text})


FILE_KEYS = f"one of the keys {', '.join(keys_of(CaseFile))}"
DEFAULT_KEYS = f"one of the keys {', '.join(keys_of(Expectations))}"
VERDICTS_DUE = "a list of verdicts, unless requireVerdict is false"
NO_VERDICT = "No verdict is allowed, so that no trace could be right; name one, or set requireVerdict to false."
NO_DEFAULT = " has no built-in default that null could restore; give it a value."


def case_file(
    head: str = "schemaVersion: 1\nsuite: s\n",
    case_id: str = "a",
    keywords: str = "[pool]",
    verdicts: str = "allowedVerdicts: [PASS]",
) -> str:
    case = f"question: why?, rootCauseKeywords: {keywords}, requiredEvidenceTools: []"
    return f"{head}cases:\n  - {{id: {case_id}, {case}{', ' if verdicts else ''}{verdicts}}}\n"


# Name, text of the file, and the fault: line, path, expected, found, message.
IN_A_FILE = [
    (
        "schemaVersion missing",
        case_file("suite: s\n"),
        (1, "$.schemaVersion", "1", "nothing", "The key schemaVersion is missing; add it."),
    ),
    (
        "schemaVersion unknown",
        case_file("schemaVersion: 2\nsuite: s\n"),
        (1, "$.schemaVersion", "1", "the number 2", UNKNOWN_VERSION),
    ),
    (
        "schemaVersion true is not 1",
        case_file("schemaVersion: true\nsuite: s\n"),
        (1, "$.schemaVersion", "1", "the boolean true", WRONG_TYPE),
    ),
    (
        "schemaVersion as text",
        case_file("schemaVersion: '1'\nsuite: s\n"),
        (1, "$.schemaVersion", "1", 'the text "1"', NO_QUOTES),
    ),
    (
        "suite missing",
        case_file("schemaVersion: 1\n"),
        (1, "$.suite", "text", "nothing", "The key suite is missing; add it."),
    ),
    (
        "cases missing",
        "schemaVersion: 1\nsuite: s\n",
        (1, "$.cases", "a list", "nothing", "The key cases is missing; add it."),
    ),
    (
        "empty suite",
        "schemaVersion: 1\nsuite: s\ncases: []\n",
        (3, "$.cases", "a list that is not empty", "an empty list", EMPTY_LIST),
    ),
    (
        "cases without a value",
        "schemaVersion: 1\nsuite: s\ncases:\n",
        (3, "$.cases", "a list", "null", "There is no value here; write one, or remove the entry."),
    ),
    ("a list", "- a\n", (1, "$", "an object", "a list of 1", WRONG_TYPE)),
    ("a text", "hello\n", (1, "$", "an object", 'the text "hello"', WRONG_TYPE)),
    (
        "a case that is no object",
        case_file() + "  - b\n",
        (5, "$.cases[1]", "an object", 'the text "b"', WRONG_TYPE),
    ),
    (
        "unknown key of the file",
        case_file("schemaVersion: 1\nsuit: s\nsuite: s\n"),
        (2, "$.suit", FILE_KEYS, "the key suit", "There is no such key; did you mean suite?"),
    ),
    (
        "case key at the top",
        case_file("schemaVersion: 1\nsuite: s\nallowedVerdicts: []\n"),
        (
            3,
            "$.allowedVerdicts",
            FILE_KEYS,
            "the key allowedVerdicts",
            "This key belongs to a case; move it into the case, or into defaults.",
        ),
    ),
    (
        "defaults that are a list, and what they could have given is not missed",
        case_file("schemaVersion: 1\nsuite: s\ndefaults: [1]\n", verdicts=""),
        (3, "$.defaults", "an object or null", "a list of 1", WRONG_TYPE),
    ),
    (
        "traceFixture in defaults",
        case_file("schemaVersion: 1\nsuite: s\ndefaults:\n  traceFixture: a.json\n"),
        (
            4,
            "$.defaults.traceFixture",
            DEFAULT_KEYS,
            "the key traceFixture",
            "This key belongs to one case; move it from defaults into the case.",
        ),
    ),
    (
        "id missing",
        case_file().replace("id: a, ", ""),
        (
            4,
            "$.cases[0].id",
            "text",
            "nothing",
            "The key id is missing; add it.",
        ),
    ),
    *(
        (
            f"id {case_id}",
            case_file(case_id=case_id),
            (
                4,
                "$.cases[0].id",
                "ASCII letters, digits, `.`, `_` and `-`; a letter or digit first",
                f"the text {case_id}",
                "The text holds a character that may not stand here; remove it.",
            ),
        )
        for case_id in ('"a b"', '"-a"', '""', '"../a"', '"ä"', '"a\\n"', '"a/b"')
    ),
    (
        "id null",
        case_file(case_id="null"),
        (4, "$.cases[0].id", "text", "null", "There is no value here; write one, or remove the entry."),
    ),
    (
        "question missing",
        case_file().replace("question: why?, ", ""),
        (
            4,
            "$.cases[0].question",
            "text",
            "nothing",
            "The key question is missing; add it to the case, or to defaults.",
        ),
    ),
    (
        "allowedVerdicts missing",
        case_file(verdicts=""),
        (
            4,
            "$.cases[0].allowedVerdicts",
            VERDICTS_DUE,
            "nothing",
            "The key allowedVerdicts is missing; add it to the case, or to defaults.",
        ),
    ),
    (
        "rootCauseKeywords null",
        case_file(keywords="null"),
        (
            4,
            "$.cases[0].rootCauseKeywords",
            "a list, which may be empty",
            "null",
            f"The key rootCauseKeywords{NO_DEFAULT}",
        ),
    ),
    (
        "allowedVerdicts of the defaults restored to nothing",
        case_file("schemaVersion: 1\nsuite: s\ndefaults: {allowedVerdicts: [PASS]}\n", verdicts="allowedVerdicts: ~"),
        (
            5,
            "$.cases[0].allowedVerdicts",
            VERDICTS_DUE,
            "null, written ~",
            f"The key allowedVerdicts{NO_DEFAULT}",
        ),
    ),
    (
        "allowedVerdicts empty",
        case_file(verdicts="allowedVerdicts: []"),
        (
            4,
            "$.cases[0].allowedVerdicts",
            "at least one verdict",
            "an empty list",
            NO_VERDICT,
        ),
    ),
    (
        "allowedVerdicts empty in defaults",
        case_file("schemaVersion: 1\nsuite: s\ndefaults: {allowedVerdicts: []}\n", verdicts=""),
        (
            3,
            "$.defaults.allowedVerdicts",
            "at least one verdict",
            "an empty list",
            NO_VERDICT,
        ),
    ),
    (
        "verdict outside the file's own contract",
        case_file("schemaVersion: 1\nsuite: s\nverifierContract: {verdicts: [OK, BAD]}\n"),
        (
            5,
            "$.cases[0].allowedVerdicts[0]",
            "one of OK, BAD",
            'the text "PASS"',
            "The Verifier has no such verdict; correct it, or add it to verifierContract.verdicts.",
        ),
    ),
    (
        "verdict allowed in the case and forbidden in defaults",
        case_file("schemaVersion: 1\nsuite: s\ndefaults: {forbiddenVerdicts: [PASS]}\n"),
        (
            5,
            "$.cases[0].allowedVerdicts[0]",
            "a verdict that is allowed or forbidden, not both",
            'the text "PASS"',
            "The verdict is both allowed and forbidden (lines 5 and 3); remove it from one of the two lists.",
        ),
    ),
    (
        "no verdict in the contract",
        case_file("schemaVersion: 1\nsuite: s\nverifierContract: {verdicts: []}\n"),
        (3, "$.verifierContract.verdicts", "a list that is not empty", "an empty list", EMPTY_LIST),
    ),
    (
        "protocol marker that says nothing",
        case_file("schemaVersion: 1\nsuite: s\nprotocolMarkers:\n  - ok\n  - '*'\n"),
        (5, "$.protocolMarkers[1]", TEXT_LEFT, 'the text "*"', NOTHING_LEFT),
    ),
    (
        "redact regex refused",
        case_file("schemaVersion: 1\nsuite: s\nredact: ['[']\n"),
        (
            3,
            "$.redact[0]",
            REGEX,
            'the text "["',
            "The regex cannot be used: unclosed character class. Correct it.",
        ),
    ),
    (
        "redact regex that matches the empty text",
        case_file("schemaVersion: 1\nsuite: s\nredact: ['x?']\n"),
        (
            3,
            "$.redact[0]",
            REGEX,
            'the text "x?"',
            "The regex cannot be used: it matches the empty text, and so every text. Correct it.",
        ),
    ),
    (
        "id taken in the same file",
        case_file() + "  - {id: a, question: q, rootCauseKeywords: [], requiredEvidenceTools: [], requireVerdict: no}",
        (
            5,
            "$.cases[1].id",
            "an id that no other case of the suite has",
            'the text "a"',
            "The id is taken by a.yaml:4 ($.cases[0].id); rename one of the two.",
        ),
    ),
]


@pytest.mark.parametrize("text, wanted", [row[1:] for row in IN_A_FILE], ids=[row[0] for row in IN_A_FILE])
def test_fault_in_a_file(refuse: Refuse, text: str, wanted: tuple[int, str, str, str, str]) -> None:
    line, path, expected, found, message = wanted
    fault = Fault(file="a.yaml", line=line, path=path, expected=expected, found=found, message=message)
    assert [fault] == refuse({"a.yaml": text})


def test_ids_are_unique_across_files(refuse: Refuse) -> None:
    assert [
        Fault(
            file="suite/b.yml",
            line=4,
            path="$.cases[0].id",
            expected="an id that no other case of the suite has",
            found='the text "a"',
            message="The id is taken by suite/a.yaml:4 ($.cases[0].id); rename one of the two.",
        )
    ] == refuse({"suite/a.yaml": case_file(), "suite/b.yml": case_file()}, "suite")


def test_all_files_name_the_same_suite(refuse: Refuse) -> None:
    other = case_file("schemaVersion: 1\nsuite: other\n", case_id="b")
    assert [
        Fault(
            file="b.yaml",
            line=2,
            path="$.suite",
            expected='the text "s"',
            found='the text "other"',
            message=(
                "All files of one run name the same suite, and a.yaml:2 names another;"
                " make them equal, or run the suites apart."
            ),
        )
    ] == refuse({"a.yaml": case_file(), "b.yaml": other})


def test_json_is_told_to_quote_without_a_word_of_yaml(refuse: Refuse) -> None:
    text = (
        '{"schemaVersion": 1, "suite": "s", "cases": [\n'
        '  {"id": "a", "question": "q", "rootCauseKeywords": [503], "requiredEvidenceTools": [],\n'
        '   "allowedVerdicts": ["PASS"], "maxToolCalls": "3", "minKeywordCoverage": NaN}]}'
    )
    assert [(fault.line, fault.path, fault.found, fault.message) for fault in refuse({"a.json": text})] == [
        (2, "$.cases[0].rootCauseKeywords[0]", "the number 503", "Text is due here; write it in quotes."),
        (3, "$.cases[0].maxToolCalls", 'the text "3"', "Write a number without quotes."),
        (3, "$.cases[0].minKeywordCoverage", "the number NaN", NOT_FINITE),
    ]


def test_all_faults_of_all_files_are_listed_at_once_by_file_line_and_path(refuse: Refuse) -> None:
    first = """\
schemaVersion: 2
suite: s
defaults: {allowedVerdicts: [MAYBE]}
cases:
  - id: a
    question: why?
    rootCauseKeywords: [NO, a1, a2, a3, a4, a5, a6, a7, a8, a9, 10, {regex: "("}]
    requiredEvidenceTools: x
  - id: a
    question: ""
    question: again
    requiredEvidenceTools: []
    maxToolcalls: .nan
"""
    files = {
        "b.yaml": first,
        "a.json": '{"suite": "s",}',
        "c.yaml": "cases: [",
        "d.yaml": case_file(case_id="d"),
    }
    assert [(fault.file, fault.line, fault.path) for fault in refuse(files)] == [
        ("a.json", 1, "$"),
        ("b.yaml", 1, "$.schemaVersion"),
        ("b.yaml", 3, "$.defaults.allowedVerdicts[0]"),
        ("b.yaml", 7, "$.cases[0].rootCauseKeywords[0]"),
        ("b.yaml", 7, "$.cases[0].rootCauseKeywords[10]"),
        ("b.yaml", 7, "$.cases[0].rootCauseKeywords[11].regex"),
        ("b.yaml", 8, "$.cases[0].requiredEvidenceTools"),
        ("b.yaml", 9, "$.cases[1].id"),
        ("b.yaml", 9, "$.cases[1].rootCauseKeywords"),
        ("b.yaml", 10, "$.cases[1].question"),
        ("b.yaml", 11, "$.cases[1].question"),
        ("b.yaml", 13, "$.cases[1].maxToolcalls"),
        ("c.yaml", 1, "$"),
    ]


def test_one_fault_is_told_once_however_many_cases_inherit_it(refuse: Refuse) -> None:
    head = "schemaVersion: 1\nsuite: s\n"
    head += "defaults: {allowedVerdicts: [], question: q, requiredEvidenceTools: []}\n"
    cases = "cases:\n" + "".join(f"  - {{id: c{n}, rootCauseKeywords: []}}\n" for n in range(5))
    assert [fault.path for fault in refuse({"a.yaml": head + cases})] == ["$.defaults.allowedVerdicts"]
