"""What benchmarks have measured, a line of JSON each, and whether a ratio has become worse.

A line says what was measured (``name``, ``case``, ``size``), the median ``figure`` here and of a ``peer``,
the median of the ratios within rounds, the ``aim`` (the greatest ratio, or the greatest figure where there is
no peer), and where and when. A ratio is always here / peer: less is better. Files are read and written as a
whole: a line takes the place of the one that measured the same before.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from statistics import median
from typing import Any

from streambound.durable import write_text

FOLDER = Path(__file__).with_name("results")
FULL, QUICK = "full", "quick"
# Of a process alone: what else runs on the machine does not count, so ratios hold where clocks do not.
PROCESSORS = "s of processors"
SAMPLES, SAMPLED_SECONDS = 5, 0.1
# How many times the committed ratio a ratio of the quick form may be: what rounds differ by
# on a busy machine. Rows and units of state do not depend on the machine.
MARGINS = {
    "application": 1.35,
    "caching": 2.0,
    "check_latency": 2.0,
    "check_scaling": 2.0,
    "cores": 1.35,
    "engines": 1.1,
    "history": 2.0,
    "incremental": 1.5,
    "live": 1.75,
    "live_state": 1.05,
    "memory": 1.15,
    "pages": 2.0,
    "q5": 2.0,
    "startup": 1.5,
    "timed_chain": 2.0,
}


@dataclass(frozen=True)
class Result:
    """One line; ``spread`` and ``ratios`` are the least and the greatest of the rounds, where they are kept.

    ``load`` is how many processes were running beside before it began.
    """

    name: str
    case: str
    size: int
    figure: float
    unit: str
    peer: str = ""
    peer_figure: float | None = None
    ratio: float | None = None
    aim: float | None = None
    spread: tuple[float, float] | None = None
    ratios: tuple[float, float] | None = None
    rounds: int = 1
    form: str = FULL
    date: str = ""
    load: float = 0.0
    machine: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, int, str, str]:
        """What was measured, in whichever form."""
        return self.name, self.case, self.size, self.unit, self.peer

    @property
    def aimed(self) -> float:
        """What the aim is about: the ratio, or the figure where there is no peer."""
        return self.figure if self.ratio is None else self.ratio

    @property
    def met(self) -> bool:
        """Whether there is no aim, or it is reached."""
        return self.aim is None or self.aimed <= self.aim


def read(file: Path) -> list[Result]:
    """The lines of a file; none if it is not there."""
    if not file.exists():
        return []
    return [_result(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def _result(line: dict[str, Any]) -> Result:
    pairs = {key: tuple(line[key]) for key in ("spread", "ratios") if line.get(key)}
    return Result(**{**line, **pairs})


def write(file: Path, results: Iterable[Result]) -> None:
    """Put lines into a file, each in the place of the one that measured the same in the same form."""
    lines = {(*line.key, line.form): line for line in (*read(file), *results)}
    texts = ({k: v for k, v in asdict(line).items() if v not in (None, "")} for line in lines.values())
    write_text(file, "".join(f"{json.dumps(text)}\n" for text in texts))


class Run:
    """One run of a benchmark: it writes each figure when it is there."""

    def __init__(self, name: str, file: Path, form: str, packages: Sequence[str] = ()) -> None:
        self.name, self.file, self.form = name, file, form
        self.results: list[Result] = []
        self.stamp: dict[str, Any] = {
            "date": dt.datetime.now(dt.UTC).date().isoformat(),
            "load": running(),
            "machine": machine(),
            "versions": {"Python": python_version(), **{name: version(name) for name in packages}},
        }

    def add(
        self,
        case: str,
        size: int,
        here: Sequence[float],
        unit: str,
        peer: str = "",
        there: Sequence[float] = (),
        aim: float | None = None,
    ) -> Result:
        """Write one line.

        Args:
            here: a figure a round.
            there: the peer's, of the same rounds.
            aim: judged in the full form, whose sizes it is made for.
        """
        ratios = [one / two for one, two in zip(here, there, strict=True)] if peer else []
        several = len(here) > 1
        result = Result(
            self.name,
            case,
            size,
            _rounded(median(here)),
            unit,
            peer,
            _rounded(median(there)) if peer else None,
            _rounded(median(ratios)) if ratios else None,
            aim if self.form == FULL else None,
            (_rounded(min(here)), _rounded(max(here))) if several else None,
            (_rounded(min(ratios)), _rounded(max(ratios))) if several and ratios else None,
            len(here),
            self.form,
            **self.stamp,
        )
        self.results.append(result)
        write(self.file, [result])
        return result

    @property
    def met(self) -> bool:
        """Whether every aim is reached; prints what is not."""
        for result in self.results:
            if not result.met:
                print(f"MISSED: {result.case}: {result.aimed:g}, aim at most {result.aim:g}")
        return all(result.met for result in self.results)


def _rounded(number: float) -> float:
    """Four digits."""
    return float(f"{number:.4g}") if number < 1_000 else round(number)


def begin(
    name: str, parser: argparse.ArgumentParser, packages: Sequence[str] = (), **quick: Any
) -> tuple[argparse.Namespace, Run]:
    """Read a benchmark's options; those given by name are the defaults of the quick form."""
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer rounds, without aims")
    parser.add_argument("--results", type=Path, default=FOLDER / f"{name}.jsonl", metavar="FILE")
    if parser.parse_known_args()[0].quick:
        parser.set_defaults(**quick)
    options = parser.parse_args()
    return options, Run(name, options.results, QUICK if options.quick else FULL, packages)


def machine() -> str:
    """Cores, what they are where the system names them, and memory."""
    described = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = {
        name: value for name, value in re.findall(r"^(model name|cpu MHz)\s*: (.*)$", described, re.MULTILINE)
    }
    cores = f"{os.cpu_count()} cores"
    if len(found) == 2:
        cores += f" of {found['model name']} at {float(found['cpu MHz']) / 1_000:.1f} GHz"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cores}, {memory:.0f} GiB"


def running() -> float:
    """How many processes are running beside this one, on average over half a second."""
    found = []
    for _ in range(SAMPLES):
        time.sleep(SAMPLED_SECONDS)
        status = Path("/proc/stat").read_text(encoding="utf-8")
        found.append(int(status.split("procs_running ")[1].split()[0]) - 1)
    return round(sum(found) / SAMPLES, 1)


@dataclass(frozen=True)
class Compared:
    """A ratio beside the committed one of the same."""

    committed: float
    measured: Result
    margin: float

    @property
    def worse(self) -> bool:
        """Whether it is worse beyond the margin."""
        assert self.measured.ratio is not None
        return self.measured.ratio > self.committed * self.margin


def compared(committed: Iterable[Result], measured: Iterable[Result]) -> list[Compared]:
    """Every measured ratio for which there is a committed one: of the same form, or else of the other."""
    before: dict[tuple[str, str, int, str, str], dict[str, float]] = {}
    for line in committed:
        if line.ratio is not None:
            before.setdefault(line.key, {})[line.form] = line.ratio
    found = []
    for line in measured:
        forms = before.get(line.key)
        if line.ratio is not None and forms:
            ratio = forms.get(line.form, next(iter(forms.values())))
            found.append(Compared(ratio, line, MARGINS[line.name]))
    return found
