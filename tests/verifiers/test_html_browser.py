"""The HTML page in Chromium: three widths, light and dark, by script from outside, by axe-core, and as pictures that are kept.

``ASSAY_BROWSER_TESTS``: a missing browser fails, and so does missing axe-core where there is an npm to fetch it. ``ASSAY_AXE``:
axe-core's file; ``ASSAY_ARTEFACTS``: where pictures go. The nox session ``tests`` sets these two, CI the first.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from datetime import date
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest

from verifiers.formats import render
from verifiers.formats.json_report import report_from_json
from verifiers.gating.gate import Failure, judge
from verifiers.interface import Report, Verdict

BROWSER = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
GOLDEN = Path(__file__).parent.parent / "golden" / "reports"
NAMES = ("rename_files_with_one_suffix_to_another", "rename_every_file_with_one_suffix_below_a_directory_to_another")
"""One that is never broken where there is room, and one that nearly is."""
OUTSIDE = """
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
onload = async () => {
  const d = f.contentDocument, w = f.contentWindow, found = {};
  found.width = d.documentElement.scrollWidth;
  found.window = f.clientWidth;
  found.background = w.getComputedStyle(d.body).backgroundColor;
  found.counterexample = d.querySelector(".finding .sides figure").getBoundingClientRect().bottom;
  const box = d.querySelector(".overviews").getBoundingClientRect();
  found.short = [...d.querySelectorAll(".short")].map((short) => {
    const end = [...short.querySelectorAll(".extra")].at(-1).getBoundingClientRect().bottom;
    return end <= Math.min(short.getBoundingClientRect().bottom, box.bottom, 900);
  });
  found.lines = [...d.querySelectorAll(".overview .name a")].map((a) => new Set([...a.getClientRects()].map((r) => r.top)).size);
  found.why = [...d.querySelectorAll(".why:not(:empty)")].map((c) => c.clientWidth);
  found.cells = [...d.querySelectorAll(".overview td")].map((c) => c.scrollWidth - c.clientWidth);
  const type = (text) => { d.getElementById("find").value = text; d.getElementById("find").dispatchEvent(new w.Event("input")); };
  const seen = (what) => [...d.querySelectorAll(what)].filter((r) => r.checkVisibility());
  const rows = () => seen("tr.of").map((r) => r.querySelector(".name > *").innerText);
  const before = performance.now();
  type("app.1732.log second");
  found.searched = rows();
  found.sections = seen("details.of").length;
  found.search_ms = performance.now() - before;
  type("");
  d.getElementById("show-INCONCLUSIVE").click();
  found.inconclusive = rows();
  const passed = [...d.querySelectorAll("details.PASS")].at(-1);
  passed.open = false;
  const link = [...passed.querySelectorAll(".checks li[id]")].at(-1).id;
  w.location.hash = link;
  await wait(300);
  const target = d.getElementById(link).getBoundingClientRect();
  found.led = passed.open && target.top >= 0 && target.top < 900;
  if (g.contentWindow.axe) {
    const axe = await g.contentWindow.axe.run(g.contentDocument, { resultTypes: ["violations"] });
    found.violations = axe.violations.map((v) => [v.impact, v.id, v.nodes[0].html, v.nodes[0].failureSummary]);
  }
  document.title = JSON.stringify(found);
};
"""


def load(name: str) -> Report:
    return report_from_json(json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def reports() -> list[Report]:
    named = ("passing", "failing", "inconclusive", "partial", "asking")
    return [*map(load, named), *(replace(load("passing"), name=name, path=f"drafts/{name}/skill.py") for name in NAMES)]


def page(reports: list[Report]) -> str:
    broken = [Failure("drafts/empty", Verdict.INCONCLUSIVE, "no evidence: run `assay record`")]
    gate = judge(reports, today=date(2026, 11, 21), failures=broken)
    return render(reports, "html", titles={}, sources={}, gate=gate, seconds=3.1)


def browse(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    assert BROWSER is not None
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
        "--enable-logging=stderr", "--v=0", f"--user-data-dir={folder / 'profile'}", *options,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)


def missing() -> bool:
    """Whether there is no browser to look with: the structure is tested without one."""
    assert BROWSER is not None or not os.environ.get("ASSAY_BROWSER_TESTS"), "ASSAY_BROWSER_TESTS is set and no Chromium is there"
    return BROWSER is None


def axe_core() -> Path | None:
    """axe-core's file; None where nobody has fetched it. What is named must be there."""
    file = os.environ.get("ASSAY_AXE")
    could = os.environ.get("ASSAY_BROWSER_TESTS") and shutil.which("npm")
    assert file or not could, "ASSAY_BROWSER_TESTS is set, npm is there, and axe-core was not fetched (ASSAY_AXE)"
    return Path(file) if file else None


def test_nothing_is_passed_over_where_it_is_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """In CI neither a browser nor axe-core is missing in silence; a developer without them is not kept from the rest."""
    monkeypatch.setitem(globals(), "BROWSER", None)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    for name in ("ASSAY_AXE", "ASSAY_BROWSER_TESTS"):
        monkeypatch.delenv(name, raising=False)
    assert missing()
    assert axe_core() is None
    monkeypatch.setenv("ASSAY_BROWSER_TESTS", "1")
    with pytest.raises(AssertionError, match="no Chromium is there"):
        missing()
    with pytest.raises(AssertionError, match="axe-core was not fetched"):
        axe_core()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert axe_core() is None


def look(folder: Path, html: str, width: int, *scheme: str) -> tuple[dict[str, Any], Path]:
    """What the page is seen to be at a width, and its picture. The page is as it is made; axe-core gets one without the policy.

    Chromium's window is never narrower than 500 pixels, a frame can be.
    """
    axe = axe_core()
    script = f"<script>{axe.read_text(encoding='utf-8')}</script>" if axe else ""
    bare = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html).replace("</body>", f"{script}</body>")
    size = f'style="display:block;border:0;width:{width}px;height:'
    frames = [f'<iframe id="f" {size}900px" srcdoc="{escape(html)}">', f'<iframe id="g" {size}20000px" srcdoc="{escape(bare)}">']
    file, picture = folder / "report.html", folder / "picture.png"
    file.write_text(
        f'<!doctype html><title></title><body style="margin:0">{"</iframe>".join(frames)}</iframe><script>{OUTSIDE}</script>'
    )
    window = f"--window-size={max(width, 500)},900"
    dumped = browse(folder, *scheme, window, "--virtual-time-budget=60000", "--dump-dom", file.as_uri())
    alone = folder / "alone.html"
    alone.write_text(f'<!doctype html><body style="margin:0">{frames[0]}</iframe>')
    shot = browse(folder, *scheme, window, f"--screenshot={picture}", alone.as_uri())
    said = [line for line in (dumped.stderr + shot.stderr).splitlines() if "CONSOLE" in line]
    assert said == []
    title = re.search(r"<title>(.*?)</title>", dumped.stdout, re.DOTALL)
    assert title is not None
    found: dict[str, Any] = json.loads(unescape(title[1]))
    return found, picture


@pytest.mark.parametrize(("width", "dark"), [(w, d) for w in (1200, 768, 360) for d in (False, True)])
def test_in_chromium(tmp_path: Path, reports: list[Report], width: int, dark: bool) -> None:
    """Nothing is wider than the window, no name is broken where it has room, the first counterexample is in the first screen.

    Search, filter and links work under the page's own policy; no console error; axe-core finds nothing.
    """
    if missing():
        return
    found, picture = look(tmp_path, page(reports), width, *(["--blink-settings=preferredColorScheme=0"] if dark else []))
    assert found["width"] <= found["window"] == width
    assert max(found["cells"]) <= 0
    assert found["background"] == ("rgb(18, 22, 26)" if dark else "rgb(246, 245, 241)")
    assert found["counterexample"] <= 900
    assert set(found["lines"][:-1]) == {1} or width == 360
    assert min(found["why"]) >= 250 or width < 1200
    assert (found["searched"], found["sections"]) == (["rotate_logs"], 1)
    assert found["inconclusive"] == ["drafts/empty", "count_lines", "static_only"]
    assert found["led"]
    assert found.get("violations") == ([] if axe_core() else None)
    assert picture.stat().st_size > 10_000
    keep(picture, f"report-{width}-{'dark' if dark else 'light'}")


@pytest.mark.parametrize("width", [1200, 768, 360])
def test_each_counterexample_is_in_the_first_screen(tmp_path: Path, reports: list[Report], width: int) -> None:
    """In short, however many skills pass beside those that fail: on a phone of five."""
    if missing():
        return
    failing = [replace(reports[1], name=f"fails_{n}", path=f"f{n}.py") for n in range(4)]
    passing = [replace(reports[0], name=f"skill_{n}", path=f"s{n}.py") for n in range(20)]
    found, picture = look(tmp_path, page([*passing, *failing, *reports]), width)
    assert found["short"] == [True] * 5
    assert found["width"] <= found["window"] == width
    assert max(found["cells"]) <= 0
    keep(picture, f"failing-{width}")


def keep(picture: Path, name: str) -> None:
    """For people who look at what a run made, where the environment says where."""
    if os.environ.get("ASSAY_ARTEFACTS"):
        kept = Path(os.environ["ASSAY_ARTEFACTS"])
        kept.mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, kept / f"{name}.png")


def test_a_hundred_skills_stay_fast(tmp_path: Path, reports: list[Report]) -> None:
    """A search through all of them, the first one with the text of every section, is done before a finger lifts."""
    if missing():
        return
    many = [replace(reports[0], name=f"skill_{n}", path=f"s{n}.py") for n in range(97)]
    found, _ = look(tmp_path, page([*many, *reports[1:3], reports[4]]), 1200)
    assert found["searched"] == ["rotate_logs"]
    assert found["counterexample"] <= 900
    assert found["search_ms"] < 1000
