"""Renders pages in a headless browser (Debian's chromium), after their scripts have run."""

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest

DARK = "--blink-settings=preferredColorScheme=0"


@dataclass
class Page:
    """The contents of a page.

    body      attributes of <body>
    title     the heading
    sections  ids, in order
    cards     {key: value}: the figures at the top, as data
    shown     {key: text}: the same figures as displayed
    tables    {id: [[cell, ...], ...]}, without the titles
    marks     {id of a plot: {kind of mark: how many}}
    colors    fills of the plots' texts
    links     addresses that the page would load
    """

    body: dict = field(default_factory=dict)
    title: str = ""
    text: str = ""
    sections: list = field(default_factory=list)
    cards: dict = field(default_factory=dict)
    shown: dict = field(default_factory=dict)
    tables: dict = field(default_factory=dict)
    marks: dict = field(default_factory=dict)
    colors: set = field(default_factory=set)
    links: list = field(default_factory=list)


VOID = {"meta", "br", "link", "img", "input", "hr"}


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.page, self.open = Page(), []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        page = self.page
        page.links += [
            value
            for name, value in attributes.items()
            if name in ("src", "href", "xlink:href") or name.startswith("on")
        ]
        if tag == "body":
            page.body = attributes
        elif tag == "section":
            page.sections.append(attributes["id"])
        elif "data-key" in attributes:
            page.cards[attributes["data-key"]] = attributes["data-value"]
            page.shown[attributes["data-key"]] = ""
        elif tag == "table" and "id" in attributes:
            page.tables[attributes["id"]] = []
        elif tag == "tr" and self.inside("tbody") and self.table():
            page.tables[self.table()].append([])
        elif tag == "td" and self.table() and page.tables[self.table()]:
            page.tables[self.table()][-1].append("")
        elif tag in ("path", "text", "line") and self.mark():
            plot, kind = self.mark()
            counts = page.marks.setdefault(plot, {})
            counts[kind] = counts.get(kind, 0) + 1
        if tag == "text" and "fill" in attributes:
            page.colors.add(attributes["fill"])
        if tag not in VOID:
            self.open.append((tag, attributes))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, text):
        if self.inside("h1"):
            self.page.title += text
        if not self.inside("script") and not self.inside("style"):
            self.page.text += text
        card = next((attributes["data-key"] for _, attributes in self.open if "data-key" in attributes), None)
        if card and self.open[-1][1].get("class") == "value":
            self.page.shown[card] += text
        if self.inside("td") and self.table() and self.page.tables[self.table()]:
            self.page.tables[self.table()][-1][-1] += text

    def inside(self, tag):
        return any(name == tag for name, _ in self.open)

    def table(self):
        return next((attributes["id"] for tag, attributes in self.open if tag == "table" and "id" in attributes), None)

    def mark(self):
        """(plot, kind) of the data mark that the parser is in. Axes and legends have none."""
        plot = next((attributes.get("id") for _, attributes in self.open if attributes.get("class") == "plot"), None)
        group = self.open[-1][1].get("class", "") if self.open else ""
        found = re.fullmatch(r"mark-(\w+) role-mark.*", group)
        return (plot, found[1]) if plot and found else None


# Puts what is wider than the page, or than the box that it scrolls in, into <body data-cut>.
_FIND_CUT = """<script>setTimeout(() => {
  const cut = [...document.querySelectorAll("section, table, .plot, .plot svg, .card, td, .scroll")].filter(
    one => one.getBoundingClientRect().right > innerWidth + 1 || (one.matches(".scroll, .plot, .card") && one.scrollWidth > one.clientWidth + 1));
  document.body.dataset.cut = cut.map(one => one.tagName + "#" + one.id + "." + one.className).join(" ");
  document.body.dataset.hidden = [...document.querySelectorAll(".scroll")].filter(one => one.scrollHeight > one.clientHeight + 1).length;
}, 3000)</script></body>"""


def printed(path, folder, *, width=710):
    """Shows a page with the rules of print, in the width of A4 without its margins. -> (what is cut at the right, how many tables hide rows)."""
    text = path.read_text()
    assert text.count("@media print") == 1
    file = folder / f"printed_{path.name}"
    file.write_text(text.replace("@media print", "@media screen").replace("</body>", _FIND_CUT))
    with tempfile.TemporaryDirectory() as profile:
        command = [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={profile}",
            f"--window-size={width},2000",
        ]
        done = subprocess.run(
            [*command, "--hide-scrollbars", "--virtual-time-budget=8000", "--dump-dom", f"file://{file}"],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
    body = re.search(r"<body[^>]*>", done.stdout)[0]
    return re.search(r'data-cut="([^"]*)"', body)[1], int(re.search(r'data-hidden="(\d+)"', body)[1])


_FIND_FAULTS = """<script>
addEventListener("load", () => setTimeout(() => {
  const width = document.documentElement.clientWidth, faults = [];
  const is_clipped = one => one && (["auto", "scroll", "hidden"].includes(getComputedStyle(one).overflowX) || is_clipped(one.parentElement));
  for (const one of document.querySelectorAll("body *:not(script):not(style)")) {
    const box = one.getBoundingClientRect();
    if (box.width > 0 && box.right > width + 1 && !is_clipped(one.parentElement)) faults.push("wide: " + one.tagName + " " + one.textContent.slice(0, 40));
  }
  for (const plot of document.querySelectorAll("svg")) {  // slanted texts have boxes that overlap although they do not
    const texts = [...plot.querySelectorAll("text")].filter(one => one.textContent.trim() && one.getScreenCTM().a * one.getScreenCTM().b === 0 &&
      getComputedStyle(one).opacity !== "0").map(one => [one.textContent, one.getBoundingClientRect()]);
    texts.forEach(([a, one], index) => texts.slice(index + 1).forEach(([b, other]) => {
      const columns = Math.min(one.right, other.right) - Math.max(one.left, other.left), rows = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (columns > 3 && rows > 3) faults.push("overlap: " + a + " | " + b);
    }));
  }
  const result = document.createElement("pre");
  result.id = "faults";
  result.textContent = faults.slice(0, 10).join("\\n");
  document.body.append(result);
}, 500));
</script></body>"""
_FRAME = """<iframe src="%s" style="border: 0; width: %dpx; height: 2000px"></iframe><script>
addEventListener("load", () => setTimeout(() => document.body.append(document.querySelector("iframe").contentDocument.querySelector("#faults")), 2000));
</script>"""


def layout_faults(path, folder, width):
    """Shows a page in this width. Returns what is wider than the page, and the texts of plots that overlap.

    The page is in a frame, because a browser's window has a minimum width.
    """
    file = folder / f"measured_{path.name}"
    file.write_text(
        re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", path.read_text()).replace(
            "</body>", _FIND_FAULTS
        )
    )
    frame = folder / f"frame_{path.name}"
    frame.write_text(_FRAME % (file.name, width))
    with tempfile.TemporaryDirectory() as profile:
        command = [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={profile}",
            "--window-size=1400,2100",
        ]
        command += [
            "--allow-file-access-from-files",
            "--hide-scrollbars",
            "--virtual-time-budget=8000",
            "--dump-dom",
            f"file://{frame}",
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return re.search(r'<pre id="faults">(.*?)</pre>', done.stdout, re.DOTALL)[1].splitlines()


def browse(path, *, dark=False):
    """Opens the page at `path` in chromium without a network. The test fails if the console has output or a script has an error."""
    program = shutil.which("chromium")
    if program is None:
        pytest.fail("chromium is missing: scripts/setup.sh --full")
    with tempfile.TemporaryDirectory() as profile:
        command = [
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={profile}",
            "--window-size=1250,2000",
        ]
        command += [
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--virtual-time-budget=4000",
            "--enable-logging=stderr",
            *([DARK] if dark else []),
            "--dump-dom",
            f"file://{path}",
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not said, "\n".join(said)
    assert done.returncode == 0 and done.stdout, done.stderr[-2000:]
    reader = Reader()
    reader.feed(done.stdout)
    page = reader.page
    assert "data-error" not in page.body, page.body
    assert "data-plots" in page.body, "the scripts did not come to their end"
    assert not page.links, page.links
    return page
