import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from backedge.runtime.compare.chart import chart
from backedge.runtime.compare.iterations import Stacking
from backedge.runtime.compare.page import html
from backedge.runtime.compare.report import rendered, rows, write_json
from backedge.runtime.compare.runnables import Runnable, in_process
from backedge.runtime.compare.sides import Side
from backedge.runtime.compare.verdict import compare_sides
from backedge.runtime.oracles import Outcome
from rich.console import Console


def steps(first):
    def call(batch):
        if batch["x"] == 7:
            raise ValueError("seven <&> no")
        return {"ys": np.arange(4.0) + (np.arange(4) >= first) * (batch["x"] >= 5)}

    return in_process("executor", call)


def runtime(first):
    """The same as something that isn't ours."""
    return replace(steps(first), name="runtime", own=True)


@pytest.fixture
def report():
    dead = Runnable("native", lambda batches: [Outcome(error="no <op>", stage="load") for _ in batches])
    return compare_sides(
        Side("a<1>.onnx", [runtime(9)], stackings={"ys": Stacking()}),
        Side("b.xml", [steps(2), dead]),
        [{"x": np.array(k), "go": np.array([True])} for k in range(10)],
    )


@pytest.fixture
def equal():
    sides = Side("a", [steps(9), runtime(9)]), Side("b", [steps(9), runtime(9)])
    return compare_sides(*sides, [{"x": np.array(k)} for k in range(4)])


def printed(report):
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(rendered(report))
    return console.export_text()


def test_trials_that_went_alike_share_a_row(report):
    assert [(row.status, row.numbers) for row in rows(report)] == [
        ("equal", [0, 1, 2, 3, 4]),
        ("different", [5, 6, 8, 9]),
        ("neither", [7]),
    ]
    assert rows(report)[0].texts == ["5", "0", "values", "values", "not loaded", "0"]
    assert rows(report)[2].texts[2:] == ["error", "error", "not loaded", ""]


def test_the_terminal_shows_verdict_rows_and_the_first_difference(report):
    text = printed(report)
    assert text.startswith("different")
    for part in (
        "a<1>.onnx",
        "B         ",
        "native",
        "first difference",
        "trial 5, output ys[2]",
        "iteration",
        "no <op>",
    ):
        assert part in text
    assert re.search(r"A \(runtime\)\s+2\.0", text) and re.search(r"B \(executor\)\s+3\.0", text)
    assert max(map(len, text.splitlines())) <= 100


def test_an_equal_report_is_short(equal):
    text = printed(equal)
    assert text.startswith("equal") and "first difference" not in text
    assert len(text.splitlines()) <= 6


def test_a_comparison_without_trials_still_prints():
    report = compare_sides(Side("a", []), Side("b", []), [])
    assert "incomparable" in printed(report)
    assert "incomparable" in html(report)


class Page(HTMLParser):
    """Collects tags and checks that they are closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.links, self.text = [], [], [], ""

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.links += [value for key, value in attrs if key in ("src", "href")]
        if tag not in ("meta", "path", "html", "body", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("html", "body"):
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_page_is_whole_escaped_and_needs_nothing_else(report):
    text = html(report)
    page = Page()
    page.feed(text)
    assert not page.open and not page.links
    assert "http" not in text and "<script" not in text and "@import" not in text
    assert page.seen.count("svg") == 2  # error of each iteration and of each trial
    assert "a<1>.onnx" in page.text and "seven <&> no" in page.text
    assert page.seen.count("circle") == 4 + 9
    assert len(text) < 20_000


def test_json_is_json(report, tmp_path):
    write_json(report, tmp_path / "r.json")
    data = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert data == report.to_json()
    assert data["first"]["difference"]["iteration"] == 2
    assert data["first"]["profile"][:2] == [0.0, 0.0]


@pytest.mark.parametrize("errors", [[0.0], [float("inf")], [0.0, 1e-12, 1.0, 1e300, float("inf")], [1.0, 1.0]])
def test_charts_stay_inside_their_frame(errors):
    svg = chart(list(enumerate(errors)), "trial")
    circles = re.findall(r'<circle class="(\w+)" cx="([\d.-]+)" cy="([\d.-]+)" r="3">', svg)
    assert len(circles) == len(errors)
    assert all(0 < float(x) < 720 and 0 < float(y) < 170 for _, x, y in circles)
    assert [tone == "bad" for tone, *_ in circles] == [error > 1 for error in errors]
    heights = [float(y) for *_, y in circles]
    assert heights == sorted(heights, reverse=True)
