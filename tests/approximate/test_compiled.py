"""Compiled kernels are kept once a machine, also for sources that lie in an archive."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from streambound.spark.shipping import packed

PROGRAM = """
import sys
from streambound.approximate.kernels import compiled

def twice(x):
    return 2 * x

kernel = compiled.kernel(twice)
assert kernel(21) == 42
print(compiled.__file__, dict(kernel.stats.cache_hits), dict(kernel.stats.cache_misses))
"""


def ran(program: Path, library: Path, cache: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(program)],
        env={"PYTHONPATH": str(library), "NUMBA_CACHE_DIR": str(cache), "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_code_compiled_from_an_archive_is_found_again_from_another(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    outputs = []
    for name in ("one", "other"):
        library = tmp_path / name / "streambound.zip"
        library.parent.mkdir()
        library.write_bytes(packed().read_bytes())
        outputs.append(ran(program, library, tmp_path / "cache"))
    assert all("streambound.zip" in output for output in outputs)
    assert outputs[0].rstrip().endswith("{} {(int64,): 1}") and outputs[1].rstrip().endswith(
        "{(int64,): 1} {}"
    )


SIMULATED = """
import numpy as np
from streambound.simulator.problems import next_references as kernel

assert kernel(np.array([0, 1, 0]), 2).tolist() == [2, 3, 3]
print(dict(kernel.stats.cache_hits), dict(kernel.stats.cache_misses))
"""


def test_a_kernel_of_another_room_follows_both_rooms(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(SIMULATED)
    library = tmp_path / "streambound.zip"
    library.write_bytes(packed().read_bytes())
    ran(program, library, tmp_path / "cache")
    assert ran(program, library, tmp_path / "cache").rstrip().endswith(" {}")
    for room in ("simulator", "approximate"):
        with zipfile.ZipFile(library, "a") as archive:
            archive.writestr(f"streambound/{room}/another.py", "HELPER = 1\n")
        assert ran(program, library, tmp_path / "cache").startswith("{} "), room


def test_a_change_of_the_sources_is_compiled_anew(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    library = tmp_path / "streambound.zip"
    library.write_bytes(packed().read_bytes())
    ran(program, library, tmp_path / "cache")
    # The function's own file, and then another module of the room.
    program.write_text(PROGRAM.replace("2 * x", "x + x"))
    assert ran(program, library, tmp_path / "cache").rstrip().endswith("{} {(int64,): 1}")
    with zipfile.ZipFile(library, "a") as archive:
        archive.writestr("streambound/approximate/kernels/another.py", "HELPER = 1\n")
    assert ran(program, library, tmp_path / "cache").rstrip().endswith("{} {(int64,): 1}")
