"""The reference of the Python API, from its signatures and docstrings."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final

import msgspec

import pipeline
from tools.docstrings import attributes
from tools.frames_page import frames
from tools.markdown import anchor, code, fence, table

SECTIONS: Final = ("Args", "Attributes", "Returns", "Yields", "Raises")
# What every function of a module takes; said once, above them.
USUAL: Final = ("snapshot", "diff")
WIDTH: Final = 100
_SECTION: Final = re.compile(rf"(?m)^({'|'.join(SECTIONS)}):\n((?:(?:    .*)?\n?)+)")
_ENTRY: Final = re.compile(r"(\w+): (.*)")
_SCHEMA: Final = re.compile(r", see `(\w+)`")


def api_sections() -> str:
    """The functions, the classes and then the modules of the public API, each with all that its docstrings say."""
    names = {name: getattr(pipeline, name) for name in pipeline.__all__ if not name.startswith("_")}
    functions = [_function(name, one) for name, one in names.items() if callable(one) and not inspect.isclass(one)]
    classes = [_class(name, one) for name, one in names.items() if inspect.isclass(one)]
    modules = [_module(name, one) for name, one in names.items() if inspect.ismodule(one)]
    return "\n\n".join(["## Functions", *functions, "## What they give", *classes, *modules])


def public_functions(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """The public functions that a module declares, in order."""
    return {
        name: one
        for name, one in vars(module).items()
        if inspect.isfunction(one) and one.__module__ == module.__name__ and not name.startswith("_")
    }


def _function(name: str, function: Callable[..., Any]) -> str:
    parts = [f"### {name}", fence(_signature(name, function), "py"), _text(function)]
    for section, body in _sections(function).items():
        if section in {"Returns", "Yields"}:
            parts.append(f"{section}: {' '.join(body.split())}")
        else:
            entries = "\n".join(f"- {code(entry)}: {meaning}" for entry, meaning in _entries(body))
            parts.append(f"{section}:\n\n{entries}")
    return "\n\n".join(parts)


def _signature(name: str, function: Callable[..., Any]) -> str:
    """The signature with its types as they are written, and its defaults as values."""
    found = inspect.signature(function)
    (written,) = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body
    assert isinstance(written, ast.FunctionDef)  # noqa: S101 - it is one, or this page is wrong
    declared = [*written.args.args, *written.args.kwonlyargs]
    types = {one.arg: one.annotation for one in declared}
    parameters = []
    for parameter in found.parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in parameters:
            parameters.append("*")
        default = "" if parameter.default is inspect.Parameter.empty else f" = {parameter.default!r}"
        parameters.append(f"{parameter.name}: {_written(types[parameter.name])}{default}")
    end = f") -> {_written(written.returns)}"
    line = f"{name}({', '.join(parameters)}{end}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {one}," for one in parameters), end])


def _written(annotation: ast.expr | None) -> str:
    text = "" if annotation is None else ast.unparse(annotation)
    return text.strip("'\"").replace("Path_", "str | PathLike[str]")


def _module(name: str, module: ModuleType) -> str:
    rows = [_row(name, one, function) for one, function in public_functions(module).items()]
    described = table(("Function", "Gives", "Arguments"), rows)
    return "\n\n".join([f"## {code(name)}", inspect.cleandoc(module.__doc__ or ""), described])


def _row(module: str, name: str, function: Callable[..., Any]) -> tuple[str, str, str]:
    parameters = inspect.signature(function).parameters.values()
    shown = ", ".join(
        one.name if one.default is inspect.Parameter.empty else f"{one.name}={one.default!r}" for one in parameters
    )
    arguments = [
        f"{code(entry)}: {meaning}"
        for entry, meaning in _entries(_sections(function).get("Args", ""))
        if entry not in USUAL
    ]
    return code(f"{module}.{name}({shown})"), _linked(_text(function)), " ".join(arguments)


def _linked(text: str) -> str:
    """The name of a frame's schema as a link to its columns."""
    known = {frame.__name__ for frame in frames()}
    return _SCHEMA.sub(
        lambda found: f" ([columns](frames.md{anchor(found[1])}))" if found[1] in known else found[0],
        text,
    )


def _class(name: str, cls: type) -> str:
    meanings = attributes(cls)
    types = inspect.get_annotations(cls)
    rows = [
        (code(field.name), code(_type(types[field.name])), meanings.get(field.name, ""))
        for field in msgspec.structs.fields(cls)
    ]
    rows += [
        (code(one), "", _text(value).rstrip("."))
        for one, value in vars(cls).items()
        if isinstance(value, property) and not one.startswith("_")
    ]
    return "\n\n".join([f"### {name}", _text(cls), table(("Attribute", "Type", "Meaning"), rows)])


def _type(annotation: Any) -> str:
    text = (
        annotation.__name__ if inspect.isclass(annotation) and not hasattr(annotation, "__args__") else str(annotation)
    )
    return re.sub(r"\b[a-z_]+(?:\.[a-z_]+)*\.(?=[A-Z])", "", text)


def _text(of: object) -> str:
    """A docstring before its sections and examples."""
    return _SECTION.sub("", inspect.getdoc(of) or "").partition(">>> ")[0].strip()


def _sections(of: object) -> dict[str, str]:
    return {name: textwrap.dedent(body) for name, body in _SECTION.findall(inspect.getdoc(of) or "")}


def _entries(body: str) -> Iterator[tuple[str, str]]:
    """The entries of a section, each with its meaning on one line."""
    name, meaning = "", ""
    for line in body.strip().splitlines():
        entry = None if line.startswith(" ") else _ENTRY.match(line)
        if entry is None:
            meaning += f" {line.strip()}"
            continue
        if name:
            yield name, meaning
        name, meaning = entry[1], entry[2]
    if name:
        yield name, meaning
