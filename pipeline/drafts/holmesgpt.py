"""Test cases of HolmesGPT: a folder with a `test_case.yaml` each.

Several phrasings of `user_prompt` become a case each, as they are tests of their own there. What `expected_output` says
is judged there by a model; drawn from it are quoted phrases, identifiers and figures, as candidates for keywords. A
test that is expected to fail (`evaluation.correctness` 0) is a known failure of its keywords.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from pipeline.cases.tree import Node
from pipeline.drafts.base import Draft, Drafted, Entry, Origin, Source, as_case_id, items_of, shown, text_of
from pipeline.drafts.wording import draw, lines_of
from pipeline.errors import quote

# More candidates than this nobody trims.
MOST_KEYWORDS: Final = 20
_READ: Final = frozenset({"user_prompt", "expected_output", "tags", "evaluation", "description"})
_SET_UP: Final = (
    "before_test", "after_test", "setup_timeout", "port_forwards", "mock_policy", "mock_overrides", "mocked_date",
    "test_env_vars", "toolsets", "runbooks", "include_files", "generate_mocks", "cluster_name", "test_type",
    "allow_toolset_failures", "include_tool_calls", "request_type",
)  # fmt: skip
_NAME: Final = re.compile(r"[-_.]*test_case$")


def drafts(source: Source) -> Drafted:
    """A case for every phrasing of the question."""
    root = source.root
    if root.kind != "object" or (root.get("expected_output") is None and root.get("user_prompt") is None):
        raise source.refused(
            "This is no test case of HolmesGPT; name its test_case.yaml files, or the folder that holds them.",
            "an object with user_prompt and expected_output",
            shown(root),
        )
    prompts = [text for node in items_of(root.get("user_prompt")) if (text := text_of(node))]
    name = _name(source.file)
    return Drafted(
        cases=[
            _draft(root, prompt, name if len(prompts) <= 1 else f"{name}-{number}")
            for number, prompt in enumerate(prompts or [""], start=1)
        ]
    )


def _name(file: str) -> str:
    """What the test is called: its folder, or what stands before `test_case` in the file's name."""
    path = PurePosixPath(file)
    return as_case_id(_NAME.sub("", path.stem) or path.parent.name)


def _draft(root: Node, prompt: str, name: str) -> Draft:
    draft = Draft(id=name, question=prompt, line=root.line)
    description = text_of(root.get("description"))
    if description:
        draft.about.append(f"description: {' '.join(description.split())}")
    if not prompt:
        draft.question = name
        draft.notes["question"] = ["the test has no user_prompt: write what the agent is asked"]
        draft.leave_out("the question", "the test has no user_prompt; it is asked about an alert or a conversation")
    tags = [text for node in items_of(root.get("tags")) if (text := text_of(node)) and text.isprintable()]
    if tags:
        draft.fields["tags"] = tags
    draft.fields["rootCauseKeywords"] = []
    for element in items_of(root.get("expected_output")):
        _expectation(draft, element, prompt)
    draft.fields["requiredEvidenceTools"] = []
    draft.fields["requireVerdict"] = False
    _evaluation(draft, root.get("evaluation"))
    _what_remains(draft, root)
    return draft


def _expectation(draft: Draft, element: Node, prompt: str) -> None:
    text = text_of(element)
    if text is None:
        if element.kind != "null":
            draft.leave_out(f"expected_output: {shown(element)}", "it is no text", element.line)
        return
    listed = draft.fields["rootCauseKeywords"]
    for line in lines_of(text):
        drawn = draw(line, [prompt])
        if drawn.negative:
            why = "it says what the answer must not do; choose forbiddenAnswerKeywords yourself"
            draft.leave_out(f"expected_output: {line}", why, element.line)
            continue
        fits = drawn.keywords[: max(0, MOST_KEYWORDS - len(listed))]
        draft.add("rootCauseKeywords", *(Entry(keyword, f"expected_output: {quote(line)}") for keyword in fits))
        if len(fits) < len(drawn.keywords):
            why = f"there are {MOST_KEYWORDS} candidates already"
            draft.leave_out(f"expected_output: {line}", why, element.line)
        elif not fits:
            repeated = ", ".join(drawn.in_question)
            why = f"{repeated} stands in the question too" if repeated else "no phrase, name or figure to draw from it"
            draft.leave_out(f"expected_output: {line}", why, element.line)


def _evaluation(draft: Draft, evaluation: Node | None) -> None:
    correctness = None if evaluation is None else evaluation.get("correctness")
    score = correctness
    if correctness is not None and correctness.kind == "object":
        score = correctness.get("expected_score")
        kind = text_of(correctness.get("type"))
        if kind not in {None, "strict"}:
            draft.leave_out(f"evaluation.correctness.type: {kind}", "a model judges how near is near", correctness.line)
    if score is not None and score.value in (0, False) and draft.fields["rootCauseKeywords"]:
        draft.notes["knownFailure"] = ["evaluation.correctness is 0: the test is expected to fail"]
        draft.fields["knownFailure"] = {
            "checks": ["root-cause-keywords"],
            "reason": "HolmesGPT expects correctness 0 of this test; remove this when it is mended",
        }
    elif score is not None and score.value in (0, False):
        draft.leave_out("evaluation.correctness: 0", "there is no keyword that could be known to fail", score.line)
    elif score is not None and score.value not in (1, True):
        draft.leave_out(f"evaluation.correctness: {shown(score)}", "a share of a score", score.line)
    for member in () if evaluation is None else evaluation.members:
        if member.key != "correctness":
            draft.leave_out(f"evaluation.{member.key}: {shown(member.node)}", "a model judges it", member.line)


def _what_remains(draft: Draft, root: Node) -> None:
    for member in root.members:
        if member.key in _READ:
            continue
        why = "it sets up the test" if member.key in _SET_UP else "a case has no such key"
        if member.key == "expected_sections":
            for section in _sections(member.node):
                draft.leave_out(section, "sections of an answer are not told apart", member.line)
            continue
        value = "" if member.key in {"before_test", "after_test"} else f": {shown(member.node)}"
        draft.leave_out(f"{member.key}{value}", why, member.line)


def _sections(node: Node) -> Iterator[str]:
    if node.kind != "object":
        yield f"expected_sections: {shown(node)}"
    for member in node.members:
        yield f"expected_sections: {member.key}: {shown(member.node)}"


ORIGIN = Origin(
    name="holmesgpt",
    summary="HolmesGPT's test_case.yaml files",
    takes=lambda name: name.endswith(("test_case.yaml", "test_case.yml")),
    drafts=drafts,
    losses=(
        "A model judged there whether an answer says what is expected. Here keywords do: those drafted are",
        "candidates from the words of expected_output. Keep what a right answer cannot do without.",
        "Which tools the agent must use is said nowhere there; name them.",
    ),
)
