"""Tests of promptfoo: configurations, files of tests (YAML, JSON, CSV) and exported results.

Assertions that compare text by rule are carried over; those that ask a model, run code or measure likeness are listed.
The question is the rendered prompt, else the variable that looks like one. Exported results give each test once,
however many prompts and providers it ran with.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any, Final

import msgspec

from pipeline.cases.regexes import regex_problem
from pipeline.cases.tree import Member, Node
from pipeline.drafts.base import Draft, Drafted, Entry, LeftOut, Origin, Source, as_case_id, items_of, shown, text_of
from pipeline.errors import quote
from pipeline.text import normalise_texts

# A whole text that long is no keyword.
LONGEST_EQUAL: Final = 2000
LONGEST_ID: Final = 50
REQUIRED: Final = "rootCauseKeywords"
FORBIDDEN: Final = "forbiddenAnswerKeywords"
_QUESTION_VARS: Final = ("question", "query", "prompt", "input", "message", "user_prompt", "task", "text", "content")
_VARIABLE: Final = re.compile(r"\{\{-?\s*([A-Za-z_]\w*)\s*-?\}\}")
_TEMPLATE: Final = re.compile(r"\{\{|\{%")
_TEST_KEYS: Final = frozenset({"vars", "assert", "description", "metadata"})
_MODEL: Final = frozenset({
    "llm-rubric", "model-graded-closedqa", "model-graded-factuality", "factuality", "answer-relevance", "g-eval",
    "context-faithfulness", "context-recall", "context-relevance", "conversation-relevance", "select-best", "pi",
    "moderation", "guardrails", "classifier", "search-rubric", "is-refusal", "max-score", "agent-rubric",
})  # fmt: skip
_CODE: Final = frozenset({"javascript", "python", "ruby", "webhook"})
_LIKENESS: Final = frozenset({
    "similar", "rouge-n", "bleu", "gleu", "levenshtein", "perplexity", "perplexity-score", "meteor", "f-score",
})  # fmt: skip


class _Test(msgspec.Struct, frozen=True, kw_only=True):
    """One test with what stands around it.

    Attributes:
        node: the test itself.
        prompt: the prompt as it was sent, or the only template; empty where there is none.
        around: the tests that all tests inherit from.
    """

    node: Node
    prompt: str = ""
    around: tuple[Node, ...] = ()


def drafts(source: Source) -> Drafted:
    """A case for every test."""
    drafted = Drafted()
    tests = list(_tests(source, drafted))
    stem = as_case_id(PurePosixPath(source.file).name.partition(".")[0])
    for number, test in enumerate(tests, start=1):
        description = text_of(test.node.get("description"))
        name = as_case_id(description or "")[:LONGEST_ID].strip("-._")
        draft = Draft(id=name if description and name != "case" else f"{stem}-{number}", line=test.node.line)
        if description:
            draft.about.append(f"description: {description}")
        _Carrying(draft, test).write()
        drafted.cases.append(draft)
    return drafted


def _tests(source: Source, drafted: Drafted) -> Iterator[_Test]:
    root = source.root
    if root.kind == "list":
        yield from _listed(root, drafted)
        return
    rows = _rows(root)
    if rows:
        yield from _once(rows)
        return
    config = root.get("config") if root.get("tests") is None else root
    tests = None if config is None else config.get("tests")
    if config is None or tests is None:
        raise source.refused(
            "There are no tests of promptfoo here; name its configuration, a file of tests, or exported results.",
            "an object with tests or results, or a list of tests",
            shown(root),
        )
    around = config.get("defaultTest")
    if config.get("scenarios") is not None:
        drafted.left_out.append(LeftOut(root.line, "scenarios", "write their tests out"))
    if around is not None and around.kind != "object":
        drafted.left_out.append(LeftOut(around.line, f"defaultTest: {shown(around)}", "the file is not read"))
        around = None
    prompts = [text for node in items_of(config.get("prompts")) if (text := _prompt(node))]
    prompt = prompts[0] if len(prompts) == 1 else ""
    for test in _listed(tests, drafted):
        yield _Test(node=test.node, prompt=prompt, around=() if around is None else (around,))


def _listed(tests: Node, drafted: Drafted) -> Iterator[_Test]:
    for node in items_of(tests):
        if node.kind == "object":
            yield _Test(node=node)
        else:
            left = LeftOut(node.line, f"tests: {shown(node)}", "name that file too, to make cases of it")
            drafted.left_out.append(left)


def _prompt(node: Node) -> str | None:
    text = text_of(node.get("raw") if node.kind == "object" else node)
    # A reference to a file, or to a program that makes prompts.
    return None if text is None or text.startswith(("file://", "exec:")) else text


def _rows(root: Node) -> tuple[Node, ...]:
    results = root.get("results")
    if results is not None and results.kind == "object":
        results = results.get("results")
    return () if results is None else results.items


def _once(rows: tuple[Node, ...]) -> Iterator[_Test]:
    """The tests of exported results, each once."""
    seen = set()
    for row in rows:
        test = row.get("testCase") or _of_row(row)
        index = text_of(row.get("testIdx"))
        key = index if index is not None else json.dumps([shown(row.get("vars")), test.line])
        if key in seen:
            continue
        seen.add(key)
        prompt = row.get("prompt")
        sent = None if prompt is None else text_of(prompt.get("raw") if prompt.kind == "object" else prompt)
        yield _Test(node=test, prompt=_last_message(sent or ""))


def _of_row(row: Node) -> Node:
    """The test of a result that does not keep it: its variables, and the assertions that were graded."""
    graded = row.get("gradingResult")
    components = items_of(None if graded is None else graded.get("componentResults"))
    asserted = tuple(node for one in components if (node := one.get("assertion")) is not None)
    members = [member for member in row.members if member.key in {"vars", "description"}]
    members.append(Member("assert", row.line, Node(kind="list", line=row.line, items=asserted)))
    return Node(kind="object", line=row.line, members=tuple(members))


def _last_message(prompt: str) -> str:
    """What the user said last, of a prompt that is a list of messages."""
    if not prompt.lstrip().startswith("["):
        return prompt
    try:
        messages = msgspec.json.decode(prompt.encode())
    except (msgspec.DecodeError, RecursionError):
        return prompt
    said = [one["content"] for one in messages if isinstance(one, dict) and one.get("role") == "user"]
    return said[-1] if said and isinstance(said[-1], str) else prompt


class _Carrying:
    """One test being carried over.

    Args:
        draft: what it becomes.
        test: the test.
    """

    def __init__(self, draft: Draft, test: _Test) -> None:
        self.draft = draft
        self.test = test
        self.vars: dict[str, str] = {}

    def write(self) -> None:
        """Fill the draft."""
        parts = (*self.test.around, self.test.node)
        for part in parts:
            self._take_vars(part.get("vars"))
        self.draft.fields |= {"rootCauseKeywords": [], "requiredEvidenceTools": []}
        self.draft.fields["requireVerdict"] = False
        self._question()
        for part in parts:
            for assertion in items_of(part.get("assert")):
                self._assertion(assertion)
            for member in part.members:
                if member.key not in _TEST_KEYS:
                    self._member(member.key, member.node, member.line)

    def _member(self, key: str, node: Node, line: int) -> None:
        if node.kind == "null" or (node.kind in {"object", "list"} and not (node.members or node.items)):
            return
        why = "a score; every check must hold here" if "hreshold" in key or "Scor" in key else "a case has no such key"
        self.draft.leave_out(f"{key}: {shown(node)}", why, line)

    def _take_vars(self, node: Node | None) -> None:
        for member in () if node is None else node.members:
            text = text_of(member.node)
            if text is not None and not text.startswith("file://"):
                self.vars[member.key] = text
            elif member.node.kind == "list":
                self.draft.leave_out(f"vars.{member.key}: {shown(member.node)}", "a test for each; write them out")

    def _question(self) -> None:
        asked = self._rendered(self.test.prompt) if self.test.prompt else None
        if asked is None:
            likely = [self.vars[name] for name in _QUESTION_VARS if name in self.vars]
            asked = likely[0] if likely else next(iter(self.vars.values())) if len(self.vars) == 1 else None
        if asked is None:
            self.draft.notes["question"] = [
                f"the prompt is not in the file: write what is asked, from {', '.join(self.vars) or 'the prompt'}"
            ]
            self.draft.leave_out("the question", "the prompt is not in the file", self.test.node.line)
        self.draft.question = asked or self.draft.id

    def _rendered(self, text: str) -> str | None:
        """A text with its variables; None where something of a template remains."""
        values = self.vars
        known = _VARIABLE.sub(lambda name: values.get(name[1], name[0]), text)
        # What a variable holds may look like a template itself, and is none.
        rest = _VARIABLE.sub(lambda name: "" if name[1] in values else name[0], text)
        return None if _TEMPLATE.search(rest) else known

    def _assertion(self, node: Node) -> None:
        kind = text_of(node.get("type")) or ""
        base = kind.removeprefix("not-")
        weight = node.get("weight")
        if base == "assert-set":
            self._assertion_set(node)
        elif weight is not None and weight.value == 0:
            self._leave(node, "its weight is 0: it cannot fail")
        elif node.get("transform") is not None:
            self._leave(node, "it is about a transformed output")
        elif base in _RULES:
            _RULES[base](self, node, REQUIRED if base == kind else FORBIDDEN)
        else:
            reasons = (
                (_MODEL, "a model judges it"),
                (_CODE, "it runs code"),
                (_LIKENESS, "it measures likeness"),
            )
            self._leave(node, next((why for kinds, why in reasons if base in kinds), "no check does this"))

    def _assertion_set(self, node: Node) -> None:
        if node.get("threshold") is not None:
            self._leave(node, "a share of its assertions is enough")
            return
        for inner in items_of(node.get("assert")):
            if text_of(inner.get("type")) == "assert-set":
                self._leave(inner, "a set within a set")
            else:
                self._assertion(inner)

    def _leave(self, node: Node, why: str) -> None:
        value = node.get("value") or node.get("threshold") or node.get("assert")
        said = "" if value is None else f": {shown(value)}"
        self.draft.leave_out(f"{text_of(node.get('type')) or 'assertion'}{said}", why, node.line)

    def texts(self, node: Node) -> list[str] | None:
        """The values of an assertion; None, and listed, where they are not all known here."""
        value = node.get("value")
        texts = [text_of(item) for item in items_of(value)]
        rendered = [None if text is None else self._rendered(text) for text in texts]
        known = [text for text in rendered if text is not None and not text.startswith("file://")]
        plain = normalise_texts(known) if known else []
        if not known or len(known) < len(texts):
            self._leave(node, "its value is not a text that stands here")
            return None
        if not all(plain):
            self._leave(node, "nothing of its value is left when texts are compared")
            return None
        return known

    def add(self, key: str, node: Node, *values: Any) -> None:
        """Add keywords, each with the assertion it comes from."""
        self.draft.add(key, *(Entry(value, f"{text_of(node.get('type'))}, line {node.line}") for value in values))

    def leave(self, node: Node, why: str) -> None:
        """List an assertion that no check can be made of."""
        self._leave(node, why)


def _contains(test: _Carrying, node: Node, key: str) -> None:
    texts = test.texts(node)
    if texts:
        test.add(key, node, *texts)


def _split(test: _Carrying, node: Node) -> list[str] | None:
    """The values of an assertion about several texts, which may stand in one, parted by commas."""
    texts = test.texts(node)
    value = node.get("value")
    if texts and value is not None and value.kind == "text":
        return [part.strip() for part in texts[0].split(",") if part.strip()]
    return texts


def _contains_all(test: _Carrying, node: Node, key: str) -> None:
    texts = _split(test, node)
    if texts and key == FORBIDDEN and len(texts) > 1:
        test.leave(node, "some of them may stand in the answer, only not all")
    elif texts:
        test.add(key, node, *texts)


def _contains_any(test: _Carrying, node: Node, key: str) -> None:
    texts = _split(test, node)
    if texts and key == FORBIDDEN:
        test.add(key, node, *texts)
    elif texts:
        test.add(key, node, texts[0] if len(texts) == 1 else texts)


def _regex(test: _Carrying, node: Node, key: str) -> None:
    for pattern in test.texts(node) or ():
        problem = regex_problem(pattern)
        if problem is None:
            test.add(key, node, {"regex": pattern})
        else:
            test.leave(node, f"the regex cannot be used: {quote(problem)}")


def _whole(start: str, end: str) -> Callable[[_Carrying, Node, str], None]:
    def add(test: _Carrying, node: Node, key: str) -> None:
        value = node.get("value")
        if value is not None and value.kind in {"object", "list"}:
            test.leave(node, "it compares structured output")
            return
        for text in test.texts(node) or ():
            (plain,) = normalise_texts([text])
            if len(plain) > LONGEST_EQUAL:
                test.leave(node, f"a text of more than {LONGEST_EQUAL} characters is no keyword")
            else:
                test.add(key, node, {"regex": f"{start}{_escaped(plain)}{end}"})

    return add


def _escaped(text: str) -> str:
    return re.sub(r"([][(){}.*+?^$|\\#&~-])", r"\\\1", text)


def _limit(field: str, name: str) -> Callable[[_Carrying, Node, str], None]:
    def add(test: _Carrying, node: Node, key: str) -> None:
        limit = node.get("threshold") or node.get("value")
        known = limit is not None and limit.kind in {"integer", "number"} and 0 <= limit.value < float("inf")
        if key == FORBIDDEN or limit is None or not known:
            test.leave(node, f"no limit of {name}")
            return
        fields = test.draft.fields
        fields[field] = min(limit.value, fields.get(field, limit.value))

    return add


def _tool_used(test: _Carrying, node: Node, key: str) -> None:
    value = node.get("value")
    names = [text_of(item) for item in items_of(value)]
    if not names or None in names:
        test.leave(node, "it counts calls or matches names by pattern")
        return
    for name in names:
        test.draft.add_tool("forbiddenTools" if key == FORBIDDEN else "requiredEvidenceTools", name, node.line)


# By type of assertion without `not-`: what to do with it, given the list that its words belong to.
_RULES: Final[dict[str, Callable[[_Carrying, Node, str], None]]] = {
    "contains": _contains,
    "icontains": _contains,
    "contains-all": _contains_all,
    "icontains-all": _contains_all,
    "contains-any": _contains_any,
    "icontains-any": _contains_any,
    "regex": _regex,
    "equals": _whole("^", "$"),
    "starts-with": _whole("^", ""),
    "ends-with": _whole("", "$"),
    "latency": _limit("maxDurationMs", "time"),
    "cost": _limit("maxCostUsd", "cost"),
    "trajectory:tool-used": _tool_used,
}

ORIGIN = Origin(
    name="promptfoo",
    summary="promptfoo's configurations, files of tests and exported results",
    takes=lambda name: name.endswith((".yaml", ".yml", ".json", ".csv")),
    drafts=drafts,
    losses=(
        "Texts are compared here as a reader sees them: letter case, Markdown marks and runs of spaces do not count.",
        "A number at the edge of a keyword stands alone: 503 is not found in 5030.",
        "A latency or cost that the trace does not record is over its limit.",
    ),
)
