"""The pictures of docs/how-to/run-airflow.md, from the Airflow that ``make up`` left after ``./demo``.

python -m tests.e2e.screenshots [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.e2e.browser import visitor

from scripts.airflow_layout import PROJECT, generated_secrets, layout_from_environment
from scripts.airflow_local import running
from streambound_airflow.places import PREFIX

WINDOW = {"width": 1280, "height": 1000}
SHOTS = (
    ("queries", "queries", "light"),
    ("bounded", "queries/carriers_by_origin", "light"),
    ("unbounded", "queries/tail_numbers_seen", "dark"),
    ("caches", "queries/aircraft_rotation#caches", "dark"),
    ("stream", "streams/departures", "light"),
    ("try", "try?query=tail_numbers_seen", "dark"),
)


def main(folder: Path) -> int:
    layout = running(layout_from_environment())
    if layout is None:
        print("no Airflow is running here: ./demo, then make up", file=sys.stderr)
        return 3
    folder.mkdir(parents=True, exist_ok=True)
    for name, address, scheme in SHOTS:
        with visitor(layout.url, color_scheme=scheme, viewport=WINDOW) as person:
            person.log_in("viewer", generated_secrets(layout)["viewer_password"])
            person.page.goto(f"{layout.url}/plugin/streambound{PREFIX}/{address}")
            person.framed()
            person.page.wait_for_load_state("networkidle")
            person.page.screenshot(path=folder / f"{name}.png")
            print(folder / f"{name}.png", "; ".join(person.errors))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else PROJECT / "docs" / "images"))
