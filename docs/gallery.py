"""Makes the pictures of `docs/gallery.md`: commands on the demo model, what a terminal shows, and pages in Chromium.

`make gallery` runs it; the pictures lie in `docs/pictures`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
SHAPES = ["--input-shapes", "image:[1,3,32,32]"]
OTHER = ["other.onnx", "model.onnx", "-b", "onnxrt", *SHAPES]
GENERATE = ["generate", "int4.onnx", "float.onnx", "-b", "onnxrt", "--prompts", "prompts.txt", "--tokenizer"]
GENERATE += ["tokenizer.json", "--steps", "30", "--max-kl", "0.001"]
DECIDE = ["float.onnx", "-b", "onnxrt", "--data", "pictures"]
TUNED = ["onnxrt", "onnxrt:optimization=off", "onnxrt:threads=1"]
#: Name of the picture -> words after `polycmp`, exit status, and the page to look at, if it is not the terminal.
COMMANDS: dict[str, tuple[list[str], int, str]] = {
    "run": (["run", "model.onnx", "-b", "onnxrt", "-b", "onnx", *SHAPES], 0, ""),
    "failed": (["run", *OTHER], 1, ""),
    "locate": (["locate", *OTHER], 1, ""),
    "run-page": (["run", *OTHER, "--mark-all", "--report", "run.html"], 1, "run.html"),
    "locate-page": (["locate", *OTHER, "--report", "locate.html"], 1, "locate.html"),
    "pipeline": (["pipeline", "pipeline.toml"], 1, ""),
    "generate": (GENERATE, 1, ""),
    "decide": (["decide", "damaged.onnx", *DECIDE, "--max-drop", "1"], 1, ""),
    "flips": (
        ["run", "int8.onnx", *DECIDE, "--data-loader", "pictures", "--flips", "200", "--postprocess", "top-1"],
        1,
        "",
    ),
    "tune": (["tune", "model.onnx", "--matrix", *TUNED, "-b", "onnx", *SHAPES, "--seconds", "0.5"], 0, ""),
    "receipt": (["check", "receipt", "receipt.json"], 0, ""),
    "suite-page": (["suite", "suite.toml"], 1, "suite-results/latest/index.html"),
}
SUITE = """
[defaults]
backends = ["onnxrt", "onnx"]
timeout = 120

[[case]]
model = "model.onnx"
[case.matrix]
input-shapes = [["image:[1,3,32,32]"], ["image:[4,3,32,32]"]]

[[case]]
name = "changed weight"
model = "other.onnx"
backends = ["onnxrt", "onnxrt:name=good,model=model.onnx"]
input-shapes = ["image:[1,3,32,32]"]
"""


#: What services show that find a link to the site.
CARD = """<!DOCTYPE html><meta charset="utf-8"><style>
body { margin: 0; width: 1200px; height: 630px; overflow: hidden; background: #171b22; color: #e8ebf0;
  position: relative; font: 30px/1.35 system-ui, "Noto Sans", "DejaVu Sans", sans-serif; }
h1 { font-size: 92px; margin: 62px 0 14px 64px; letter-spacing: -0.03em; }
p { margin: 0 0 0 66px; width: 520px; color: #b8c2d0; }
code { position: absolute; left: 66px; top: 440px; font: 25px monospace; color: #5fd092; }
img { position: absolute; left: 620px; top: 64px; width: 840px; border-radius: 18px; box-shadow: 0 20px 60px #000c; }
</style><h1>polycmp</h1><p>Does this model still compute what it should, on the backend I want to ship it on?</p>
<code>pip install 'polycmp[full]'</code><img src="PICTURE" alt="">"""


def prepare(folder: Path) -> None:
    """Write the demo model, the same with one weight changed, a suite, and what two pages make."""
    import onnx

    from polycmp_onnx.tools.demo_model import make_model, with_fault

    model = make_model()
    onnx.save(model, folder / "model.onnx")
    onnx.save(with_fault(model), folder / "other.onnx")
    (folder / "suite.toml").write_text(SUITE)
    programs = (("pipelines.md", "plates.py"), ("generating.md", "letters.py"), ("deciding.md", "digits.py"))
    for page, program in programs:
        blocks = r"^```(?:python|toml)\n(# (\S+)\n.*?)^```$"
        for text, name in re.findall(blocks, (ROOT / "docs" / page).read_text("utf-8"), re.MULTILINE | re.DOTALL):
            (folder / name).write_text(text)
        subprocess.run([sys.executable, program], cwd=folder, check=True)
    run(folder, ["run", "model.onnx", "-b", "onnxrt", "-b", "onnx", *SHAPES, "--receipt", "receipt.json"])


def run(folder: Path, words: list[str], columns: int = 110) -> tuple[int, str]:
    """Return the exit status of a command and what it shows on a terminal with colours."""
    environ = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(columns), "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "polycmp", *words]
    done = subprocess.run(
        command, cwd=folder, env=environ, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return done.returncode, done.stdout


def as_picture(words: list[str], shown: str) -> str:
    """Return a terminal's content as SVG, which refers to no font of another host."""
    from rich.console import Console
    from rich.text import Text

    content = Text.from_ansi(shown.rstrip())
    command = " ".join(f"'{word}'" if "[" in word else word for word in words)
    content = Text(f"$ polycmp {command}\n").append(content)
    width = max(map(len, content.plain.splitlines()))
    console = Console(record=True, width=width, file=StringIO())
    console.print(content)
    picture = console.export_svg(title="polycmp", unique_id="polycmp")
    return re.sub(r"@font-face \{.*?\}|<!--.*?-->", "", picture, flags=re.DOTALL)


def photograph(chromium: str, page: Path, picture: Path, size: str = "1200,900") -> None:
    """Write what Chromium shows of a page."""
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=5000"]
    words += [f"--window-size={size}", f"--user-data-dir={page.parent / 'profile'}", f"--screenshot={picture}"]
    subprocess.run([chromium, *words, page.as_uri()], check=True, capture_output=True, timeout=120)


def main() -> int:
    """Make all pictures."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("no chromium on PATH: apt-get install chromium", file=sys.stderr)
        return 1
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        for picture, (words, status, page) in COMMANDS.items():
            found, shown = run(folder, words)
            if found != status:
                print(f"polycmp {' '.join(words)} ended with {found} instead of {status}:\n{shown}", file=sys.stderr)
                return 1
            if page:
                photograph(chromium, folder / page, PICTURES / f"{picture}.png")
            else:
                (PICTURES / f"{picture}.svg").write_text(as_picture(words, shown), encoding="utf-8")
        card = folder / "card.html"
        card.write_text(CARD.replace("PICTURE", (PICTURES / "locate-page.png").as_uri()), encoding="utf-8")
        photograph(chromium, card, PICTURES / "card.png", "1200,630")
    return 0


if __name__ == "__main__":
    sys.exit(main())
