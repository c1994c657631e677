"""Results as text and as HTML."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_MAX = 20
CELL_MAX = 40  # characters


class Head(NamedTuple):
    """The first rows of a result."""

    first: pa.Table
    types: list[str]  # of the columns, by their names in SQL
    more: bool
    rows: int | None  # how many the whole result has, if that is known


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    text = " ".join(str(value).split()) if isinstance(value, str) else str(value)
    return text if len(text) <= CELL_MAX else text[: CELL_MAX - 1] + "…"


def _right(t: pa.DataType) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(t) or types.is_floating(t) or types.is_decimal(t))


def _footer(shown: int, more: bool, rows: int | None) -> str:
    if more:
        return f"{shown} of {rows:,} rows" if rows is not None else f"the first {shown} rows; there are more"
    return f"{shown} row" if shown == 1 else f"{shown} rows"


def _fitting(widths: list[int], room: int) -> list[int]:
    """Return the columns that have room: all, or the first and the last ones without some in the middle."""
    if sum(w + 3 for w in widths) <= room:
        return list(range(len(widths)))
    room -= 4  # for a column in place of the others
    first: list[int] = []
    last: list[int] = []
    low, high = 0, len(widths)
    while low < high:
        left = len(first) <= len(last)
        at = low if left else high - 1
        room -= widths[at] + 3
        if room < 0 and first:
            break
        if left:
            first.append(at)
            low += 1
        else:
            last.insert(0, at)
            high -= 1
    return first + last


def as_text(first: pa.Table, types: list[str], more: bool, rows: int | None) -> str:
    """Draw the first rows of a result; rows is how many the whole result has, if that is known."""
    import shutil  # a third of the time of an import of the package

    columns = [
        [_cell(name), types[i], *(_cell(v) for v in first.column(i).to_pylist())]
        for i, name in enumerate(first.column_names)
    ]
    rights = [_right(f.type) for f in first.schema]
    fitting = _fitting([max(map(len, c)) for c in columns], shutil.get_terminal_size((120, 24)).columns - 1)
    left_out = len(columns) - len(fitting)
    cut = next((i for i, at in enumerate(fitting) if at != i), len(fitting))
    columns, rights = [columns[i] for i in fitting], [rights[i] for i in fitting]
    if left_out:
        columns.insert(cut, ["…"] * (first.num_rows + 2))
        rights.insert(cut, False)
    widths = [max(map(len, c)) for c in columns]

    def line(left: str, middle: str, right: str) -> str:
        return left + middle.join("─" * (w + 2) for w in widths) + right

    def row(i: int) -> str:
        cells = (c[i].rjust(w) if r else c[i].ljust(w) for c, w, r in zip(columns, widths, rights, strict=True))
        return "│ " + " │ ".join(cells) + " │"

    body = [row(i) for i in range(first.num_rows + 2)]
    footer = _footer(first.num_rows, more, rows)
    if left_out:
        footer += f"; {len(fitting)} of {left_out + len(fitting)} columns"
    return "\n".join([line("┌", "┬", "┐"), *body[:2], line("├", "┼", "┤"), *body[2:], line("└", "┴", "┘"), footer])


def as_html(first: pa.Table, types: list[str], more: bool, rows: int | None) -> str:
    """Return the first rows as a table of HTML."""
    heads = "".join(
        f"<th>{html.escape(name)}<br><small>{html.escape(kind)}</small></th>"
        for name, kind in zip(first.column_names, types, strict=True)
    )
    lines = zip(*(first.column(i).to_pylist() for i in range(first.num_columns)), strict=True)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(_cell(v))}</td>" for v in values) + "</tr>" for values in lines)
    return (
        f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
        f"<small>{_footer(first.num_rows, more, rows)}</small>"
    )
