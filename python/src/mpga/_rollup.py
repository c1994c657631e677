"""Roll-ups: answers that are kept, by the program."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

from . import _connection
from ._errors import CancelledError, Error, InputError, QueryError, public
from ._settings import program

USAGE, INTERRUPTED = 2, 130  # exit codes

Path = str | os.PathLike[str]


@public
def rollup(
    query: str,
    /,
    *,
    state: Path,
    output: Path,
    deterministic: bool = False,
    on_change: str = "rebuild",
    keep_parts: int = 0,
    keep: str = "",
    **tables: Path | list[Path] | tuple[Path, ...],
) -> dict[str, Any]:
    """Write the answer of a query over files that come every day, and read the new ones alone, as ``mpga rollup`` does.

    The states of the groups, by file, stay in a directory; ``FROM rollup('state')`` reads them.

    Args:
        query: A SELECT with groups. Behind FROM stands the name of one of ``tables``, or a path or URL in quotes.
        state: The directory of the states, or the beginning of URLs.
        output: The file, or URL, that has the answer after each run: Parquet, CSV, JSON or Arrow, by its ending.
        deterministic: Whether sums of floats have the same bits on every run.
        on_change: Where files that did not change would be read again: ``"rebuild"`` reads them, ``"fail"`` fails.
        keep_parts: Keep the parts of so many of the newest files alone; 0 keeps all.
        keep: ``"400d"`` leaves out files whose date, the last one in their path, is 400 days or more before the newest.
        tables: What names in the query stand for: paths, patterns and URLs, or lists of them.

    Returns:
        What the run did: ``"files"``, ``"added"``, ``"changed"``, ``"gone"``, ``"files_read"``, ``"rows_read"``,
        ``"rows"`` of the answer, and others.

    Raises:
        QueryError: the query cannot be rolled up, or the state is of another query; the text says what to do.
        Error: something else went wrong; the last output stays.
    """
    settings = _connection.settings()
    flags = ["--state", os.fspath(state), "--output", os.fspath(output), "--on-change", on_change, "--json"]
    flags += ["--keep-parts", str(keep_parts), "--keep", keep, *settings.arguments()]
    if deterministic:
        flags.append("--deterministic")
    for name, of in tables.items():
        for path in of if isinstance(of, (list, tuple)) else [of]:
            if not isinstance(path, (str, os.PathLike)):
                kind = type(path).__name__
                raise InputError(f"rollup: {name} is of {kind}: a roll-up reads files, so name their paths")
            flags += ["--table", f"{name}={os.fspath(path)}"]
    return _run([program(), "rollup", *flags, "--", query])


def _run(command: list[str]) -> dict[str, Any]:
    """Run the program, and return what it tells in its last line."""
    import subprocess

    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = process.communicate()[1]
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            process.wait()
            raise
    lines = said.strip().splitlines()
    if process.returncode == 0:
        told: dict[str, Any] = json.loads(lines[-1])
        return told
    text = said.strip().removeprefix("mpga: ")
    raise {USAGE: QueryError, INTERRUPTED: CancelledError}.get(process.returncode, Error)(text)
