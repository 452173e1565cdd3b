"""The file itself, without a browser."""

import base64
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pipeline
from pipeline.report.as_html import render
from pipeline.report.html.data import BLOCK_BYTES
from pipeline.report.html.figures_table import histogram
from pipeline.report.html.page import json_block

GOLDEN = Path(__file__).parents[1] / "report" / "golden"
BLOCK = re.compile(r'<script type="application/json" id="([\w-]+)">(.*?)</script>', re.DOTALL)
SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


@pytest.fixture(scope="module")
def html(golden_html: bytes) -> str:
    return golden_html.decode()


def test_the_same_run_gives_the_same_bytes(golden: pipeline.Run, golden_html: bytes) -> None:
    assert render(golden.view) == golden_html


def test_another_process_gives_the_same_bytes(golden_html: bytes) -> None:
    program = (
        "import sys, pipeline; from pipeline.report.as_html import render; "
        "sys.stdout.buffer.write(render(pipeline.evaluate(sys.argv[1], sys.argv[2]).view))"
    )
    again = subprocess.run(
        [sys.executable, "-c", program, str(GOLDEN / "cases.yaml"), str(GOLDEN / "traces")],
        check=True,
        capture_output=True,
        cwd=GOLDEN.parents[2],
    )
    assert again.stdout == golden_html


def test_only_the_script_of_the_page_may_run(html: str) -> None:
    (script,) = SCRIPT.findall(html)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_nothing_is_loaded_from_anywhere(html: str) -> None:
    markup = BLOCK.sub("", SCRIPT.sub("", html))
    assert re.findall(r"<(?:link|img|iframe|object|embed|base)\b", markup) == []
    assert re.findall(r"\bsrc\s*=", re.sub(r">[^<]*<", "><", markup)) == []
    assert re.findall(r"url\(|@import", markup) == []
    assert all(target.startswith("#") for target in re.findall(r'<a [^>]*href="([^"]*)"', markup))


def test_the_script_never_reads_text_as_markup(html: str) -> None:
    (script,) = SCRIPT.findall(html)
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", script) == []


def test_no_text_can_close_a_block_of_data() -> None:
    nasty = '["</script><script>alert(1)</script><!--\u2028&"]'.encode()
    block = json_block("index", nasty).decode()
    ((_, content),) = BLOCK.findall(block)
    assert "<" not in content
    assert json.loads(content) == json.loads(nasty)


def test_the_blocks_hold_every_case_once(html: str) -> None:
    blocks = {name: json.loads(content) for name, content in BLOCK.findall(html)}
    index = blocks.pop("index")
    places = {row[0]: row[-1] for row in index["cases"]}
    assert len(places) == len(index["cases"]) == 9
    held = [blocks[f"block-{block}"][place]["caseId"] for case in places for _, block, place in places[case]]
    assert sorted(held) == sorted(case for case in places for _ in places[case])
    assert len(held) == sum(len(block) for block in blocks.values())


def test_many_cases_come_in_blocks_of_a_bounded_size(many_html: bytes) -> None:
    blocks = dict(BLOCK.findall(many_html.decode()))
    index = json.loads(blocks.pop("index"))
    assert len(index["cases"]) == 10_000
    assert all(row[-1] for row in index["cases"])
    assert max(map(len, blocks.values())) < 2 * BLOCK_BYTES


@pytest.mark.parametrize(
    "values, expected",
    [
        pytest.param([3], [1], id="one value"),
        pytest.param([2, 2, 2], [3], id="all the same"),
        pytest.param([1, 3], [1, 0, 1], id="whole numbers get a step each"),
        pytest.param([0, 100], [1, *[0] * 10, 1], id="twelve steps"),
        pytest.param([-1.7e308, 1.7e308], [1, *[0] * 10, 1], id="farther apart than a float can say"),
    ],
)
def test_a_histogram(values: list[float], expected: list[int]) -> None:
    assert histogram(values) == expected
