"""The pages of `verify --html` and `diff --html` in headless Chromium: wide, narrow and dark windows, clicks."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from backedge.convert.cli import main

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright, which drives the browser, isn't installed")
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed, and nothing else shows a page"),
]

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
HEAD = '<ir_version: 10, opset_import: ["" : 21]> g '
TEXT = """(int64 m, float[3] x, float[3] k) => (float[3] y, float[n, 3] all) {{
    e = Exp (k)
    y, all = Loop (m, , x) <body = b (int64 i, bool c, float[3] a) => (bool c2, float[3] a2, float[3] s) {{
        c2 = Identity (c)  t = Tanh (e)  f = Cast <to = 1> (i)  u = Mul (a, t)  a2 = Add (u, {})  s = Neg (a2) }}> }}"""


@pytest.fixture(scope="module", name="pages")
def _pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    for name, operand in (("a", "x"), ("b", "f")):
        onnx.save(onnx.parser.parse_model(HEAD + TEXT.format(operand)), folder / f"{name}<&>.onnx")
    ones = np.ones(3, np.float32)
    np.savez(folder / "inputs.npz", m=np.int64(6), x=ones, k=ones / 2)
    files = [str(folder / f"{name}<&>.onnx") for name in "ab"]
    given = ("--inputs", str(folder / "inputs.npz"))
    for arguments in (
        ["verify", *files, *given, "--html", str(folder / "different.html")],
        ["verify", files[0], files[0], "--html", str(folder / "proved.html")],
        ["diff", *files, "--html", str(folder / "diff.html")],
    ):
        with pytest.raises(SystemExit):
            main(arguments)
    return folder


@pytest.fixture(scope="module", name="browser")
def _browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def opened(browser: Any, file: Path, width: int, scheme: str = "light") -> tuple[Any, list[str], list[str]]:
    """The page, what it asked for beside itself, what the browser complained about."""
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(file.as_uri())
    return page, asked[1:], said


@pytest.mark.parametrize("name", ["different", "proved", "diff"])
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (400, "dark")])
def test_it_needs_nothing_and_fits(name: str, width: int, scheme: str, pages: Path, browser: Any) -> None:
    page, asked, said = opened(browser, pages / f"{name}.html", width, scheme)
    assert not asked and not said
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    numbers = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (sum(numbers[:3]) < 150) is (scheme == "dark")
    assert "<&>.onnx" in page.inner_text("body")


def test_a_difference(pages: Path, browser: Any) -> None:
    page, *_ = opened(browser, pages / "different.html", 1000)
    assert page.inner_text("h1") == "different"
    order = page.eval_on_selector_all("section", "found => found.map(one => one.id)")
    assert order == ["location", "finding", "picture", "outputs", "remarks", "trials"]
    where = page.inner_text("#location .where")
    assert "Add 'a2' gives another value" in where and "iteration 0 of Loop 'y'" in where
    points = page.eval_on_selector_all("#location circle.b title", "found => found.map(one => one.textContent)")
    assert len(points) == 6 and points[0].startswith("B, pass 0: ")
    assert page.text_content("#picture .different .name") == "a2"
    greys = page.eval_on_selector_all("#picture .same", "found => found.map(one => one.textContent)")
    assert any("Exp" in text for text in greys) and not any("Neg" in text for text in greys)
    colour = page.eval_on_selector("#picture .different > rect", "one => getComputedStyle(one).stroke")
    assert colour == "rgb(179, 38, 30)"
    cells = page.eval_on_selector_all("#outputs tbody tr", "found => found.map(one => one.textContent)")
    assert len(cells) == 2 and all("ULP" in text for text in cells)


def test_clicks(pages: Path, browser: Any) -> None:
    page, *_ = opened(browser, pages / "different.html", 1000)
    item = page.locator("#trials li").first
    assert not item.is_visible()
    page.click("#trials summary")
    assert item.is_visible() and item.get_attribute("title") == "m: int64 6, x: float32[3], k: float32[3]"
    picture = page.locator("#picture svg")
    assert picture.is_visible()
    page.click("#picture summary")
    assert not picture.is_visible()


def test_a_proof(pages: Path, browser: Any) -> None:
    page, *_ = opened(browser, pages / "proved.html", 1000)
    assert page.inner_text("h1") == "proved"
    assert "2 of 2 operators" in page.inner_text(".cards") and not page.query_selector("#location")
    assert page.locator("#picture .same").count() >= 5 and not page.query_selector("#picture .different")
    assert (
        page.eval_on_selector_all("#outputs td.number", "found => found.map(one => one.textContent)") == ["0 ULP"] * 2
    )


def test_a_diff(pages: Path, browser: Any) -> None:
    page, *_ = opened(browser, pages / "diff.html", 1000)
    assert page.inner_text("h1") == "different"
    assert "operand 1 is" in page.inner_text(".diff .changed .changed")
