"""How far a query is, in terminals and notebooks."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

SECONDS_MIN = 0.5  # a query that ends sooner shows nothing
STEPS = 1000


class Progress:
    """A bar that is gone when the query has ended. tqdm draws it, if it is installed."""

    def __init__(self, wanted: bool | None) -> None:
        self._on = _is_seen() if wanted is None else wanted
        self._bar: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    @property
    def on(self) -> bool:
        """Say whether anybody looks."""
        return self._on

    def show(self, how_far: dict[str, Any]) -> None:
        """Show what the server says of a query."""
        if not self._on or how_far["seconds"] < SECONDS_MIN:
            return
        if self._bar is None:
            self._bar = _new_bar()
        self._bar.n = int(STEPS * max(how_far["fraction"], 0))
        self._bar.set_description_str(how_far["phase"] or how_far["state"], refresh=False)
        self._bar.set_postfix_str(_figures(how_far), refresh=False)
        self._bar.refresh()


def _figures(p: dict[str, Any]) -> str:
    parts = [f"{p['rows_read']:,} rows"]
    if p["left_seconds"] >= 0:
        parts.append(f"about {p['left_seconds']:.0f} s left")
    return ", ".join(parts)


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    ipython = shell.get_ipython() if shell else None
    return ipython is not None and type(ipython).__name__ == "ZMQInteractiveShell"


def _is_seen() -> bool:
    return _in_notebook() or sys.stderr is not None and sys.stderr.isatty()


def _new_bar() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line()
    layout = "{desc}: {percentage:3.0f}%|{bar}| {postfix}"
    return tqdm(total=STEPS, leave=False, bar_format=layout, file=sys.stderr)


class _Line:
    """A bar of one line, as tqdm's."""

    n = 0

    def __init__(self) -> None:
        self._description = self._postfix = ""

    def set_description_str(self, text: str, refresh: bool) -> None:
        self._description = text

    def set_postfix_str(self, text: str, refresh: bool) -> None:
        self._postfix = text

    def refresh(self) -> None:
        done = 30 * self.n // STEPS
        bar = "█" * done + " " * (30 - done)
        sys.stderr.write(f"\r\033[K{self._description}: {100 * self.n // STEPS:3d}%|{bar}| {self._postfix}")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()
