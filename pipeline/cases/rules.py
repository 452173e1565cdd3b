"""What the case structs cannot say: rules about the meaning of values, each a function from places to faults.

A rule looks at what is written, so that it works on a file that has other faults too: it passes over values
of a wrong type, which the walker reports.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from pipeline.cases.document import Document
from pipeline.cases.fixtures import fixture_problem
from pipeline.cases.merge import Place, effective_cases
from pipeline.cases.model import DEFAULT_VERDICTS
from pipeline.cases.regexes import regex_problem
from pipeline.cases.tree import child
from pipeline.cases.words import found, suggest
from pipeline.errors import Fault, quote

KEYWORD_KEYS = ("rootCauseKeywords", "forbiddenAnswerKeywords", "forbiddenConfirmedClaims")
REQUIRED_CASE_KEYS = {
    "question": "text",
    "rootCauseKeywords": "a list, which may be empty",
    "requiredEvidenceTools": "a list, which may be empty",
    "allowedVerdicts": "a list of verdicts, unless requireVerdict is false",
}


class _Written(NamedTuple):
    """What the rules about a single file look at: its name, its root, and all objects with case keys."""

    file: str
    root: Place
    carriers: list[Place]
    known_checks: Collection[str]


def check_file(document: Document, known_checks: Collection[str]) -> list[Fault]:
    """All faults of meaning in one file."""
    faults: list[Fault] = []
    root = Place(document.root, "$")
    carriers = [place for place in (root.get("defaults"), *_elements(root.get("cases"))) if place is not None]
    written = _Written(document.file, root, carriers, known_checks)
    for rule in _FILE_RULES:
        faults.extend(rule(written))
    defaults = root.get("defaults")
    if defaults is None or defaults.node.kind in {"object", "null"}:
        for case, places in effective_cases(document):
            faults.extend(_required_keys_are_there(document.file, case, places))
            faults.extend(_verdict_sets_are_apart(document.file, case, places))
    return faults


def check_suite(documents: Sequence[Document]) -> list[Fault]:
    """All faults between the files of one run."""
    return [*_ids_are_unique(documents), *_one_suite_name(documents)]


def _elements(place: Place | None) -> list[Place]:
    return [] if place is None else place.items()


def _fault(file: str, place: Place, expected: str, message: str) -> Fault:
    return Fault(
        file=file,
        line=place.node.line,
        path=place.path,
        expected=expected,
        found=found(place.node),
        message=message,
    )


def _texts(place: Place | None) -> list[Place]:
    """The texts of a list and of the lists in it."""
    places = _elements(place)
    return [text for one in places for text in (one, *one.items()) if text.node.kind == "text"]


def _patterns(carriers: Sequence[Place]) -> Iterator[Place]:
    """The objects among the keywords."""
    for carrier in carriers:
        for key in KEYWORD_KEYS:
            for entry in _elements(carrier.get(key)):
                yield from (one for one in (entry, *entry.items()) if one.node.kind == "object")


def _keywords_say_something(written: _Written) -> Iterator[Fault]:
    places = [text for carrier in written.carriers for key in KEYWORD_KEYS for text in _texts(carrier.get(key))]
    words = [pattern.get("word") for pattern in _patterns(written.carriers)]
    places += [word for word in words if word is not None and word.node.kind == "text"]
    for carrier in written.carriers:
        degraded = carrier.get("degradedOutput")
        if degraded is not None:
            places += [*_texts(degraded.get("requiredAnyOf")), *_texts(degraded.get("forbidden"))]
    places += _texts(written.root.get("protocolMarkers"))
    # Blank text is the walker's to report.
    places = [place for place in places if place.node.value.strip()]
    if not places:
        return
    # Only a file that compares texts pays for the import.
    from pipeline.text import normalise_texts

    normalised = normalise_texts([place.node.value for place in places])
    for place, text in zip(places, normalised, strict=True):
        if not text:
            yield _fault(
                written.file,
                place,
                "text of which something is left when it is compared",
                "Nothing of the text is left once marks and white space are taken away, so that every answer"
                " would contain it; write a keyword, or remove it.",
            )


def _patterns_are_one_thing(written: _Written) -> Iterator[Fault]:
    for pattern in _patterns(written.carriers):
        given = [key for key in ("word", "regex") if (one := pattern.get(key)) and one.node.kind != "null"]
        if len(given) != 1:
            yield _fault(
                written.file,
                pattern,
                "an object with exactly one of word and regex",
                "The keyword is both a word and a regex; make two entries of it."
                if given
                else "The keyword says nothing; give it a word or a regex.",
            )


def _regexes_work(written: _Written) -> Iterator[Fault]:
    regexes = [regex for pattern in _patterns(written.carriers) if (regex := pattern.get("regex"))]
    for place in [*regexes, *_elements(written.root.get("redact"))]:
        if place.node.kind != "text" or not place.node.value.strip():
            continue
        reason = regex_problem(place.node.value)
        if reason is not None:
            yield _fault(
                written.file,
                place,
                "a regex in Polars' (Rust) syntax that does not match the empty text",
                f"The regex cannot be used: {reason}. Correct it.",
            )


def _verdicts_are_in_the_contract(written: _Written) -> Iterator[Fault]:
    contract = written.root.get("verifierContract")
    given = None if contract is None else contract.get("verdicts")
    known: Sequence[str] = DEFAULT_VERDICTS
    if given is not None and given.node.kind != "null":
        known = [text.node.value for text in _texts(given)]
    for carrier in written.carriers:
        for key in ("allowedVerdicts", "forbiddenVerdicts"):
            for verdict in _elements(carrier.get(key)):
                if known and verdict.node.kind == "text" and verdict.node.value not in known:
                    hint = suggest(verdict.node.value, known)
                    yield _fault(
                        written.file,
                        verdict,
                        f"one of {', '.join(quote(one, 40) for one in known)}",
                        "The Verifier has no such verdict"
                        f"{hint or '; correct it, or add it to verifierContract.verdicts.'}",
                    )


def _fixtures_stay_inside(written: _Written) -> Iterator[Fault]:
    for carrier in written.carriers:
        fixture = carrier.get("traceFixture")
        reason = fixture_problem(fixture.node.value) if fixture and fixture.node.kind == "text" else None
        if fixture is not None and reason is not None:
            message = f"The traceFixture cannot be used: {reason}."
            yield _fault(written.file, fixture, "a file below the traces root", message)


def _known_checks_exist(written: _Written) -> Iterator[Fault]:
    for carrier in written.carriers:
        failure = carrier.get("knownFailure")
        for check in _elements(None if failure is None else failure.get("checks")):
            if check.node.kind == "text" and check.node.value not in written.known_checks:
                hint = suggest(check.node.value, written.known_checks)
                message = f"There is no such check{hint or '; the checks page of the docs lists them.'}"
                yield _fault(written.file, check, "the id of a check", message)


_FILE_RULES: tuple[Callable[[_Written], Iterator[Fault]], ...] = (
    _keywords_say_something,
    _patterns_are_one_thing,
    _regexes_work,
    _verdicts_are_in_the_contract,
    _fixtures_stay_inside,
    _known_checks_exist,
)


def _required_keys_are_there(file: str, case: Place, places: dict[str, Place]) -> Iterator[Fault]:
    needed = places.get("requireVerdict")
    needs_verdict = needed is None or needed.node.value is not False
    for key, expected in REQUIRED_CASE_KEYS.items():
        if key == "allowedVerdicts" and not needs_verdict:
            continue
        place = places.get(key)
        if place is None:
            yield Fault(
                file=file,
                line=case.node.line,
                path=child(case.path, key),
                expected=expected,
                found="nothing",
                message=f"The key {key} is missing; add it to the case, or to defaults.",
            )
        elif place.node.kind == "null":
            message = f"The key {key} has no built-in default that null could restore; give it a value."
            yield _fault(file, place, expected, message)
        elif key == "allowedVerdicts" and place.node.kind == "list" and not place.node.items:
            yield _fault(
                file,
                place,
                "at least one verdict",
                "No verdict is allowed, so that no trace could be right; name one, or set requireVerdict to false.",
            )


def _verdict_sets_are_apart(file: str, case: Place, places: dict[str, Place]) -> Iterator[Fault]:
    allowed, forbidden = places.get("allowedVerdicts"), places.get("forbiddenVerdicts")
    allowed_at = {text.node.value: text for text in _texts(allowed)}
    for text in _texts(forbidden):
        other = allowed_at.get(text.node.value)
        if other is not None:
            # Of two places, the one in the case itself is the one to look at.
            own = other if other.path.startswith(case.path) and not text.path.startswith(case.path) else text
            yield _fault(
                file,
                own,
                "a verdict that is allowed or forbidden, not both",
                "The verdict is both allowed and forbidden"
                f" (lines {other.node.line} and {text.node.line}); remove it from one of the two lists.",
            )


def _ids_are_unique(documents: Sequence[Document]) -> Iterator[Fault]:
    first: dict[str, tuple[str, Place]] = {}
    for document in documents:
        for case in _elements(Place(document.root, "$").get("cases")):
            case_id = case.get("id")
            if case_id is None or case_id.node.kind != "text":
                continue
            file, place = first.setdefault(case_id.node.value, (document.file, case_id))
            if place is not case_id:
                yield _fault(
                    document.file,
                    case_id,
                    "an id that no other case of the suite has",
                    f"The id is taken by {file}:{place.node.line} ({place.path}); rename one of the two.",
                )


def _one_suite_name(documents: Sequence[Document]) -> Iterator[Fault]:
    first: tuple[str, Place] | None = None
    for document in documents:
        suite = Place(document.root, "$").get("suite")
        if suite is None or suite.node.kind != "text":
            continue
        if first is None:
            first = (document.file, suite)
        elif suite.node.value != first[1].node.value:
            file, place = first
            yield _fault(
                document.file,
                suite,
                found(place.node),
                f"All files of one run name the same suite, and {file}:{place.node.line} names another;"
                " make them equal, or run the suites apart.",
            )
