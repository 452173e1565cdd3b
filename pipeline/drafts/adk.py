"""Eval sets of Google ADK and of trpc-agent.

A case of an eval set is a conversation. The first thing that the user says is the question, the expected calls of all
turns become required tools, their order and their arguments, and the last expected answer gives candidates for
keywords. Also the older form, a list of `query`, `expected_tool_use` and `reference`; both in snake_case and camelCase.
"""

from pathlib import PurePosixPath
from typing import Any, Final

import msgspec

from pipeline.cases.tree import Node
from pipeline.drafts.base import (
    Draft,
    Drafted,
    Entry,
    LeftOut,
    Origin,
    Source,
    as_case_id,
    is_plain,
    items_of,
    shown,
    text_of,
)
from pipeline.drafts.wording import draw, lines_of
from pipeline.errors import quote

MOST_KEYWORDS: Final = 12
_CASE_KEYS: Final = frozenset({"eval_id", "conversation", "creation_timestamp", "eval_mode", "session_input"})
_SET_KEYS: Final = frozenset({"eval_set_id", "name", "description", "eval_cases", "creation_timestamp", "data"})
_SUFFIXES: Final = (".evalset.json", ".test.json", "test_config.json", "eval_config.json")


class _Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of an expected conversation."""

    line: int
    question: str | None
    answer: str | None
    calls: tuple[Node, ...]
    said_between: tuple[Node, ...]


def drafts(source: Source) -> Drafted:
    """A case for every case of the eval set."""
    root = source.root
    if root.kind == "list" and root.items and all(item.get("query") for item in root.items):
        return Drafted(cases=[_conversation(_stem(source.file), list(map(_old_turn, root.items)), root)])
    if root.kind == "list" and root.items and all(item.get("data") for item in root.items):
        return _old_sets(source)
    if _get(root, "eval_cases") is not None:
        return _eval_set(root)
    criteria = root.get("criteria")
    if criteria is not None:
        why = "a threshold of a metric; a check holds or does not"
        left = [LeftOut(member.line, quote(f"{member.key}: {shown(member.node)}"), why) for member in criteria.members]
        return Drafted(left_out=left)
    if _get(root, "eval_case_results") is not None:
        raise source.refused(
            "These are results of an evaluation, which are traces: use `diagnosis-eval draft`, or name the eval set.",
            "an eval set",
            "results",
        )
    raise source.refused(
        "This is no eval set of ADK; name files such as *.evalset.json or *.test.json.",
        "an object with eval_cases, or a list with query and reference",
        shown(root),
    )


def _eval_set(root: Node) -> Drafted:
    drafted = Drafted()
    for case in items_of(_get(root, "eval_cases")):
        name = text_of(_get(case, "eval_id")) or "case"
        turns = [_turn(node) for node in items_of(_get(case, "conversation"))]
        draft = _conversation(name, turns, case)
        for member in case.members:
            _case_member(draft, member.key, member.node, member.line)
        drafted.cases.append(draft)
    drafted.left_out += _unknown(root)
    return drafted


def _old_sets(source: Source) -> Drafted:
    drafted = Drafted()
    for item in source.root.items:
        name = text_of(item.get("name")) or _stem(source.file)
        drafted.cases.append(_conversation(name, [_old_turn(node) for node in items_of(item.get("data"))], item))
        drafted.left_out += _unknown(item)
    return drafted


def _unknown(node: Node) -> list[LeftOut]:
    return [
        LeftOut(member.line, quote(f"{member.key}: {shown(member.node)}"), "a case has no such key")
        for member in node.members
        if _snake(member.key) not in _SET_KEYS and member.node.kind != "null"
    ]


def _case_member(draft: Draft, key: str, node: Node, line: int) -> None:
    name = _snake(key)
    if name == "session_input":
        state = _get(node, "state")
        if state is not None and state.members:
            draft.leave_out(f"session_input.state: {shown(state)}", "it sets up the session", line)
    elif name == "actual_conversation":
        draft.leave_out(key, "it is a recorded run; the file itself can be given as traces", line)
    elif name not in _CASE_KEYS and node.kind != "null":
        draft.leave_out(f"{key}: {shown(node)}", "a case has no such key", line)


def _stem(file: str) -> str:
    name = PurePosixPath(file).name
    return next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), PurePosixPath(name).stem)


def _snake(key: str) -> str:
    return "".join(f"_{character.lower()}" if character.isupper() else character for character in key)


def _get(node: Node, name: str) -> Node | None:
    head, *rest = name.split("_")
    return node.get(name) or node.get(head + "".join(word.capitalize() for word in rest))


def _turn(node: Node) -> _Turn:
    inner = _get(node, "intermediate_data")
    calls = node.get("tools") or (None if inner is None else _get(inner, "tool_uses") or _get(inner, "tool_calls"))
    return _Turn(
        line=node.line,
        question=_content(_get(node, "user_content")),
        answer=_content(_get(node, "final_response")),
        calls=items_of(calls),
        said_between=() if inner is None else items_of(_get(inner, "intermediate_responses")),
    )


def _old_turn(node: Node) -> _Turn:
    return _Turn(
        line=node.line,
        question=text_of(node.get("query")),
        answer=text_of(node.get("reference")),
        calls=items_of(node.get("expected_tool_use")),
        said_between=items_of(node.get("expected_intermediate_agent_responses")),
    )


def _content(node: Node | None) -> str | None:
    """The text of a content: of its parts, or the plain text that trpc-agent writes."""
    if node is None or node.kind != "object":
        return text_of(node)
    parts = node.get("parts")
    if parts is None:
        return text_of(node.get("content"))
    texts = [text for part in items_of(parts) if (text := text_of(part.get("text")))]
    return "\n".join(texts) or None


def _conversation(name: str, turns: list[_Turn], origin: Node) -> Draft:
    draft = Draft(id=as_case_id(name), line=origin.line)
    if draft.id != name:
        draft.leave_out(
            f"eval_id: {name}", "it is no case id; traces of it must carry the id here as caseId", origin.line
        )
    asked = [turn.question for turn in turns if turn.question]
    draft.question = asked[0] if asked else draft.id
    if not asked:
        draft.notes["question"] = ["the case has no text of the user: write what the agent is asked"]
        draft.leave_out("the question", "the case has no text of the user", origin.line)
    draft.fields |= {"rootCauseKeywords": [], "requiredEvidenceTools": []}
    for number, turn in enumerate(turns, start=1):
        last = number == len(turns)
        if not last and turn.answer:
            why = f"turn {number} of {len(turns)}: only the last answer is judged"
            draft.leave_out(f"final_response: {turn.answer}", why, turn.line)
        if number > 1 and turn.question:
            draft.about.append(f"turn {number}: {turn.question}")
        for said in turn.said_between:
            draft.leave_out(f"an intermediate response: {shown(said)}", "only the last answer is judged", said.line)
    if turns:
        _answer(draft, turns[-1], asked)
    _calls(draft, [call for turn in turns for call in turn.calls])
    draft.fields["requireVerdict"] = False
    return draft


def _answer(draft: Draft, turn: _Turn, asked: list[str]) -> None:
    if turn.answer is None:
        return
    keywords: dict[str, Entry] = {}
    for line in lines_of(turn.answer):
        for keyword in draw(line, asked).keywords:
            keywords.setdefault(str(keyword), Entry(keyword, f"final_response: {quote(line)}"))
    fits = list(keywords.values())[:MOST_KEYWORDS]
    draft.add("rootCauseKeywords", *fits)
    why = "its likeness to the answer was measured there"
    if not fits:
        why += "; no phrase, name or figure to draw from it"
    elif len(fits) < len(keywords):
        why += f"; {len(keywords) - len(fits)} more candidates are in it"
    draft.leave_out(f"final_response: {turn.answer}", why, turn.line)


def _calls(draft: Draft, calls: list[Node]) -> None:
    order: list[str] = []
    arguments: list[Any] = []
    for call in calls:
        name = text_of(call.get("name") or call.get("tool_name"))
        if not draft.add_tool("requiredEvidenceTools", name, call.line):
            continue
        order.append(str(name))
        given = call.get("args") or call.get("arguments") or call.get("tool_input")
        if given is not None and given.kind == "object" and given.members and is_plain(given):
            wanted = {"tool": name, "mode": "exact", "arguments": given.plain()}
            arguments += [] if wanted in arguments else [wanted]
        elif given is not None and given.kind != "null" and (given.members or given.kind != "object"):
            draft.leave_out(f"arguments of {name}: {shown(given)}", "a case can hold no such arguments", call.line)
    if len(order) > 1:
        draft.fields["toolOrder"] = order
    if arguments:
        draft.fields["toolArguments"] = arguments


ORIGIN = Origin(
    name="adk",
    summary="eval sets of Google ADK and trpc-agent (*.evalset.json, *.test.json)",
    takes=lambda name: name.endswith(_SUFFIXES),
    drafts=drafts,
    losses=(
        "Expected calls are required with exactly these arguments, in this order; calls beside them are allowed here.",
        "Where there was nothing to pass, the arguments are not asked for.",
        "Of an expected answer only candidates for keywords are kept: likeness (ROUGE, a model) is not measured here.",
    ),
)
