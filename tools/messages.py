"""The table of what a user can meet: scenarios with the exact words of the command.

`tests/docs/messages.yaml` holds them. A test runs each and compares; the page docs/eval/errors.md is made from them.
`python -m tools.messages` writes down anew what the command says now; the change is then there to be reviewed.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from tools.command import Said, say
from tools.markdown import fence

TABLE: Final = Path(__file__).parents[1] / "tests/docs/messages.yaml"
HEAD: Final = """\
# What a user can meet: one scenario per message. tests/docs/test_messages.py runs each and compares what the command
# says, word for word; docs/eval/errors.md is made from this file. Write a scenario without exit, stdout and stderr, run
# `python -m tools.messages`, and read what it has written: is it true, and does it say what to do?
#
# files: a text, {hex: bytes}, {link: target}, null for none of that name; a name that ends in / is a folder.
# before: commands that come first, and whose output nobody reads.
# change: in a file of the base, what stands there and what takes its place; null removes the line.
"""
SHOWN_WIDTH: Final = 160
LANGUAGES: Final = {".yaml": "yaml", ".json": "json", ".jsonl": "json"}

Content = str | dict[str, str] | None


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One situation and what the command says in it.

    Attributes:
        name: the situation, as a heading.
        change: by file of the base, what stands there and what takes its place; None removes the line.
        files: further files, by name.
        stdin: what standard input holds.
        before: commands that come first, and that nobody reads.
        command: what follows the program's name.
        exit: the exit code.
        stdout: standard output, exactly.
        stderr: standard error, exactly.
    """

    name: str
    change: dict[str, dict[str, str | None]] = {}
    files: dict[str, Content] = {}
    stdin: str = ""
    before: list[str] = []
    command: str = "run"
    exit: int = 0
    stdout: str = ""
    stderr: str = ""


class Messages(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole table.

    Attributes:
        base: the files that every scenario starts with.
        scenarios: the scenarios by the heading they stand under.
    """

    base: dict[str, str]
    scenarios: dict[str, list[Scenario]]

    def all(self) -> Iterator[Scenario]:
        """Every scenario, in order."""
        for group in self.scenarios.values():
            yield from group


def read_messages() -> Messages:
    """The table as it is written."""
    return msgspec.convert(yaml.safe_load(TABLE.read_text("utf-8")), Messages)


def play(scenario: Scenario, base: Mapping[str, str], folder: Path) -> Said:
    """Set a scenario up in an empty folder and run its command there.

    Raises:
        LookupError: the scenario changes what does not stand in the base.
    """
    files: dict[str, Content] = dict(base)
    for name, changes in scenario.change.items():
        for old, new in changes.items():
            text = files[name]
            if not isinstance(text, str) or old not in text:
                raise LookupError(f"{scenario.name}: {name} does not hold {old!r}")
            files[name] = text.replace(old, new, 1) if new is not None else _without_line(text, old)
    for name, content in {**files, **scenario.files}.items():
        _place(folder / name, content, folder=name.endswith("/"))
    for command in scenario.before:
        say(command, folder=folder)
    said = say(scenario.command, folder=folder, stdin=scenario.stdin.encode())
    here = f"{os.path.realpath(folder)}/"
    return Said(said.exit_code, said.stdout.replace(here, ""), said.stderr.replace(here, ""))


def _without_line(text: str, part: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if part not in line)


def _place(path: Path, content: Content, *, folder: bool) -> None:
    if content is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if folder:
        path.mkdir(exist_ok=True)
    elif isinstance(content, str):
        path.write_bytes(content.encode())
    elif "link" in content:
        path.symlink_to(content["link"])
    else:
        path.write_bytes(bytes.fromhex(content["hex"]))


def message_sections() -> str:
    """One section per group of scenarios, one heading per scenario."""
    return "\n\n".join(
        "\n\n".join([f"## {group}", *(_section(scenario) for scenario in scenarios)])
        for group, scenarios in read_messages().scenarios.items()
    )


def base_files() -> str:
    """The files that every scenario starts with, as they are."""
    return "\n\n".join(f"`{name}`:\n\n{_shown(name, text)}" for name, text in read_messages().base.items())


def _section(scenario: Scenario) -> str:
    parts = [f"### {scenario.name}"]
    for name, changes in scenario.change.items():
        for old, new in changes.items():
            without = f"`{name}` without `{old.strip()}`."
            parts.append(
                without if new is None else f"`{name}`, instead of `{old.strip()}`:\n\n{_shown(name, new)}",
            )
    for name, content in scenario.files.items():
        parts.append(_file(name, content))
    if scenario.stdin:
        parts.append(f"On standard input:\n\n{_shown('-.json', scenario.stdin)}")
    said = "".join(text.strip("\n") + "\n" for text in (scenario.stdout, scenario.stderr) if text)
    typed = "".join(f"$ diagnosis-eval {command} > /dev/null\n" for command in scenario.before)
    typed += f"$ diagnosis-eval {scenario.command}\n"
    parts.append(fence(f"{typed}{_cut(said)}$ echo $?\n{scenario.exit}", "console"))
    return "\n\n".join(parts)


def _file(name: str, content: Content) -> str:
    if content is None:
        return f"There is no `{name}`."
    if name.endswith("/"):
        return f"`{name}` is an empty folder."
    if isinstance(content, str):
        return f"`{name}`:\n\n{_shown(name, content)}" if content else f"`{name}` is empty."
    if "link" in content:
        return f"`{name}` is a symbolic link to `{content['link']}`."
    return f"`{name}`, in hexadecimal: `{content['hex']}`"


def _shown(name: str, text: str) -> str:
    return fence(_cut(text), LANGUAGES.get(Path(name).suffix, "text"))


def _cut(text: str) -> str:
    return "\n".join(line if len(line) <= SHOWN_WIDTH else f"{line[:SHOWN_WIDTH]}…" for line in text.split("\n"))


class _Dumper(yaml.SafeDumper):
    """Long texts as they are, line by line."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML asks for each value
        """Write equal values out: an alias would have to be looked up."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def accept() -> None:
    """Write down what the command says now."""
    messages = read_messages()
    groups: dict[str, list[dict[str, Any]]] = {}
    for group, scenarios in messages.scenarios.items():
        groups[group] = []
        for scenario in scenarios:
            with tempfile.TemporaryDirectory(prefix="messages-") as folder:
                said = play(scenario, messages.base, Path(folder))
            row = {
                key: value
                for key, value in msgspec.structs.asdict(scenario).items()
                if key in {"name", "command"} or (value and key not in {"exit", "stdout", "stderr"})
            }
            row |= {"exit": said.exit_code}
            row |= {key: value for key, value in (("stdout", said.stdout), ("stderr", said.stderr)) if value}
            groups[group].append(row)
    written = yaml.dump(
        {"base": messages.base, "scenarios": groups},
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=10_000,
    )
    TABLE.write_text(HEAD + written, "utf-8")


if __name__ == "__main__":
    accept()
