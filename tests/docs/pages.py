"""Pages whose commands are typed by the tests, word for word: what is shown is what is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
# A file that the reader saves, or a session at a terminal.
STEP = re.compile(r'^```(?:\w+ title="([^"]+)"|console)\n(.*?)^```$', re.MULTILINE | re.DOTALL)
END = "\x1e"


class Step(NamedTuple):
    """A file to write, or a command and what it prints; a line of dots stands for any lines."""

    file: str
    text: str
    shown: str = ""


def steps(page: Path) -> list[Step]:
    """What a reader of a page does, in order."""
    found = list[Step]()
    for file, text in STEP.findall(page.read_text(encoding="utf-8")):
        if file:
            found.append(Step(file, text))
        else:
            assert text.startswith("$ "), f"{page.name}: a session begins with a command"
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, shown = part.split("\n", 1)
                found.append(Step("", command, shown))
    return found


def typed(done: list[Step], folder: Path) -> list[str]:
    """What each step printed, errors included, when all are done one after the other in one shell."""
    script = list[str]()
    for i, step in enumerate(done):
        if step.file:
            (folder / f".step-{i}").write_text(step.text, encoding="utf-8")
            script.append(f'mkdir -p "$(dirname {step.file})"; cp {folder}/.step-{i} {step.file}')
        else:
            script.append(step.text)
        script.append(f"printf '{END}'")
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    library = os.pathsep.join([str(ROOT / "include"), os.environ.get("PYTHONPATH", "")])
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STREAMBOUND_")}
    ended = subprocess.run(
        ["bash", "-c", "exec 2>&1\n" + "\n".join(script)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**kept, "PATH": paths, "PYTHONPATH": library, "LC_ALL": "C.UTF-8"},
    )
    return ended.stdout.split(END)[:-1]


def pattern(shown: str) -> str:
    """What matches the lines that are shown."""
    lines = shown.rstrip("\n").split("\n") if shown.strip() else []
    return "".join("(?:.*\n)*?" if line == "..." else re.escape(line.rstrip()) + " *\n" for line in lines)
