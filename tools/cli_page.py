"""The reference of the command line, from what `--help` says."""

from collections.abc import Iterator
from typing import Any

from tools.command import say
from tools.markdown import fence


def commands() -> list[str]:
    """Every command by the words that call it, groups and their commands included."""
    import typer.main

    from pipeline.cli import build_app

    return list(_below(typer.main.get_command(build_app()), ""))


def _below(command: Any, name: str) -> Iterator[str]:
    # Typer brings its own Click, whose classes have no public name.
    for word, one in getattr(command, "commands", {}).items():
        full = f"{name} {word}".strip()
        yield full
        yield from _below(one, full)


def help_pages() -> str:
    """One section per command."""
    return "\n\n".join(
        f"## {f'`diagnosis-eval {name}`' if name else '`diagnosis-eval`'}\n\n{fence(_help(name), 'text')}"
        for name in ("", *commands())
    )


def _help(name: str) -> str:
    return say(f"{name} --help".strip()).stdout.strip("\n")
