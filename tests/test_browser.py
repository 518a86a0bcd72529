"""The widgets in a real browser: JupyterLab on this machine, Chromium, each notebook run from top to bottom."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import notebook_files as notebooks
import pytest
from notebook_files import PATHS, ROOT
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
}
TYPED = {"embedding": "river, lake, doctor, seven"}  # into text boxes; elsewhere a sentence does
SENTENCE = "The keeper of the lighthouse climbed the stairs"
MINUTE = 60_000  # milliseconds

playgrounds = [p for p in PATHS if re.search(r"explore\(|merge_walk\(", p.read_text(encoding="utf-8"))]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab that serves the course, with settings and a workbook of its own."""
    folder = tmp_path_factory.mktemp("lab")
    kinds = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR")
    env = os.environ | {kind: str(folder / kind) for kind in (*kinds, "JUPYTERLAB_WORKSPACES_DIR", "LLMLITE_WORKBOOK")}
    settings = folder / "JUPYTER_CONFIG_DIR" / "labconfig"
    settings.mkdir(parents=True)
    (settings / "default_setting_overrides.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    for name in ("notebooks", "data"):  # a copy: JupyterLab saves by itself what it has open
        shutil.copytree(ROOT / name, folder / "course" / name)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"]
    command += ["--ServerApp.port_retries=0", "--IdentityProvider.token=", "--ServerApp.password="]
    command += [
        "--ServerApp.disable_check_xsrf=True",
        f"--ServerApp.root_dir={folder / 'course'}",
        "--LabApp.extension_manager=readonly",
    ]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(lambda: _answers(address), 120, f"JupyterLab does not start: see {folder / 'log'}")
        yield address
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("no Chromium: CI must install it")
        pytest.skip("no Chromium on this machine")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page; with LLMLITE_SCREENSHOTS set, what it showed last is kept in that folder."""
    page = browser.new_page(viewport={"width": 1100, "height": 1200})
    page.set_default_timeout(2 * MINUTE)
    yield page
    if folder := os.environ.get("LLMLITE_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{request.node.name}.png")
    page.close()


@pytest.mark.parametrize("path", playgrounds, ids=lambda path: path.stem)
def test_every_control_changes_the_picture(path: Path, lab: str, page: Page) -> None:
    _run_all(page, lab, path)
    boxes = page.locator(".llmlite-explore")
    assert boxes.count() == len(re.findall(r'^    "(?:explore|merge_walk)\(', path.read_text(encoding="utf-8"), re.MULTILINE))
    for box in boxes.all():
        box.scroll_into_view_if_needed()
        moved = [_slide(handle, box) for handle in box.get_by_role("slider").all()]
        moved += [_choose(menu, box) for menu in box.locator("select").all()]
        typed = TYPED.get(notebooks.chapter_of(path).word, SENTENCE)
        moved += [_type(line, typed, box) for line in box.locator("input[type=text]:visible").all()]
        assert moved, "a widget without a control"
        box.scroll_into_view_if_needed()


def test_the_chat_streams_an_answer(lab: str, page: Page) -> None:
    _run_all(page, lab, PATHS[0])
    chat = page.locator(".llmlite-chat")
    chat.scroll_into_view_if_needed()
    question = chat.locator("input")
    question.fill("What is the capital of France?")
    question.press("Enter")
    states = [""]
    while "out:" not in states[-1]:
        _wait(lambda: chat.inner_text() != states[-1], 120, f"no more text after {states[-1]!r}")
        states.append(chat.inner_text())
    assert len(states) > 4, "the answer came at once, it should stream"
    assert re.search(r"in: \d+ tokens, [\d.]+ ms each\s+out: \d+ tokens, [\d.]+ ms each", states[-1])
    assert "Paris" in states[-1]


def _run_all(page: Page, lab: str, path: Path) -> None:
    """Open a notebook, run all its cells, and wait for the last of them. An error in a cell is an error here."""
    page.goto(f"{lab}/lab/tree/notebooks/{path.name}?reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    _wait(lambda: _idle(lab, path), 120, "the kernel does not start")  # a run before that opens a dialog
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    prompts = page.locator(".jp-Notebook .jp-CodeCell .jp-InputPrompt")
    cells = len([c for c in notebooks.read(path).cells if c.cell_type == "code"])
    expect(prompts.last).to_have_text(re.compile(rf"\[{cells}\]:?"), timeout=5 * MINUTE)
    assert page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.error']").count() == 0


def _slide(handle: Locator, box: Locator) -> None:
    """Move a slider until the picture changes, and back: the others are to be moved from where they stood."""
    low, high, now = (float(handle.get_attribute(f"aria-value{key}") or 0) for key in ("min", "max", "now"))
    there, back = ("ArrowLeft", "ArrowRight") if now - low > high - now else ("ArrowRight", "ArrowLeft")
    before = _look(_shown(box))
    steps = _until_it_changes(box, lambda: handle.press(there), "a slider")
    for _ in range(steps):
        handle.press(back)
    _wait(lambda: _look(_shown(box)) == before, 30, "moved back, a slider leaves another picture")


def _choose(menu: Locator, box: Locator) -> None:
    _until_it_changes(box, lambda: menu.select_option(index=1), "a menu")


def _type(line: Locator, text: str, box: Locator) -> None:
    def act() -> None:
        line.fill(text)
        line.press("Enter")

    _until_it_changes(box, act, "a text box")


def _until_it_changes(box: Locator, act: Any, what: str) -> int:
    """Act, up to twenty times, until what stands under the controls looks different. Returns how often it took."""
    before = _look(_shown(box))
    for step in range(1, 21):
        act()
        for _ in range(20):
            if _look(_shown(box)) != before:
                return step
            time.sleep(0.2)
    pytest.fail(f"{what} changes nothing: {box.inner_text()}")


def _shown(box: Locator) -> Locator:
    return box.locator("img, .widget-html-content").last


def _look(shown: Locator) -> str:
    """The pixels of a picture, or the text of a widget that has none."""
    draw = """e => { if (e.tagName != 'IMG') return e.innerHTML;
        const c = document.createElement('canvas'); c.width = e.naturalWidth; c.height = e.naturalHeight;
        if (!c.width) return ''; c.getContext('2d').drawImage(e, 0, 0); return c.toDataURL(); }"""
    return str(shown.evaluate(draw))


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/api", timeout=10):
            return True
    except OSError:
        return False


def _idle(lab: str, path: Path) -> bool:
    with urllib.request.urlopen(f"{lab}/api/sessions", timeout=10) as answer:
        sessions = json.load(answer)
    return any(s["path"].endswith(path.name) and s["kernel"]["execution_state"] == "idle" for s in sessions)


def _wait(true: Any, seconds: float, otherwise: str) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, otherwise
        time.sleep(0.1)
