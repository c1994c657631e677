"""How far a query is, in terminals and notebooks."""

from __future__ import annotations

import html
import sys
from types import TracebackType
from typing import Any, Protocol

SECONDS_MIN = 0.5  # a query that ends sooner shows nothing
STEPS = 1000


class Progress:
    """A bar that is gone when the query has ended. In a terminal tqdm draws it, if it is installed."""

    def __init__(self, wanted: bool | None) -> None:
        self._on = _is_seen() if wanted is None else wanted
        self._bar: Bar | None = None
        self.fetched = 0  # rows that have come from the server

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    @property
    def on(self) -> bool:
        """Say whether anybody looks."""
        return self._on

    def show(self, how_far: dict[str, Any]) -> None:
        """Show what the server says of a query, or, once all is computed, how many rows have come."""
        if not self._on or how_far["seconds"] < SECONDS_MIN:
            return
        if self._bar is None:
            self._bar = _new_bar()
        phase, fraction, figures = how_far["phase"] or how_far["state"], how_far["fraction"], []
        if self.fetched and fraction >= 1:
            phase, fraction = "fetching", -1.0
        else:
            figures.append(f"{how_far['rows_read']:,} rows")
            if how_far["left_seconds"] >= 0 and fraction < 1:
                figures.append(f"about {how_far['left_seconds']:.0f} s left")
        if self.fetched:
            figures.append(f"{self.fetched:,} rows of the result have come")
        self._bar.draw(phase, fraction, ", ".join(figures))


class Bar(Protocol):
    """Something that shows how far a query is."""

    def draw(self, phase: str, fraction: float, figures: str) -> None:
        """Show a phase; a fraction below 0 is not known."""

    def close(self) -> None:
        """Take away what is shown."""


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    ipython = shell.get_ipython() if shell else None
    return ipython is not None and type(ipython).__name__ == "ZMQInteractiveShell"


def _is_seen() -> bool:
    return _in_notebook() or sys.stderr is not None and sys.stderr.isatty()


def _new_bar() -> Bar:
    if _in_notebook():
        return _Output()
    try:
        return _Tqdm()
    except ImportError:
        return _Line()


class _Output:
    """One output of a notebook's cell, which changes in place and is empty at the end."""

    def __init__(self) -> None:
        self._handle: Any = None

    def draw(self, phase: str, fraction: float, figures: str) -> None:
        value = f' value="{fraction:.3f}"' if fraction >= 0 else ""
        percent = f" {100 * fraction:.0f}%" if fraction >= 0 else ""
        text = f"{phase}{percent}, {figures}"
        self._put({"text/plain": text, "text/html": f"<progress{value}></progress> {html.escape(text)}"})

    def _put(self, data: dict[str, str]) -> None:
        from IPython.display import display

        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(data, raw=True)

    def close(self) -> None:
        self._put({"text/plain": "", "text/html": ""})


class _Tqdm:
    """A bar of tqdm."""

    def __init__(self) -> None:
        from tqdm import tqdm

        layout = "{desc}{bar}| {postfix}"
        self._bar = tqdm(total=STEPS, leave=False, bar_format=layout, file=sys.stderr)

    def draw(self, phase: str, fraction: float, figures: str) -> None:
        self._bar.n = int(STEPS * max(fraction, 0))
        self._bar.set_description_str(_head(phase, fraction), refresh=False)
        self._bar.set_postfix_str(figures, refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


class _Line:
    """A bar of one line, as tqdm's."""

    def draw(self, phase: str, fraction: float, figures: str) -> None:
        done = int(30 * max(fraction, 0))
        bar = "█" * done + " " * (30 - done)
        sys.stderr.write(f"\r\033[K{_head(phase, fraction)}{bar}| {figures}")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()


def _head(phase: str, fraction: float) -> str:
    return f"{phase}: {100 * fraction:3.0f}%|" if fraction >= 0 else f"{phase}|"
