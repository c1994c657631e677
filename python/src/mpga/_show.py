"""Results as text and as HTML."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_MAX = 20
CELL_MAX = 40  # characters


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


def as_text(first: pa.Table, more: bool, rows: int | None) -> str:
    """Draw the first rows of a result; rows is how many the whole result has, if that is known."""
    import shutil  # a third of the time of an import of the package

    columns = [
        [_cell(name), str(first.schema.field(i).type), *(_cell(v) for v in first.column(i).to_pylist())]
        for i, name in enumerate(first.column_names)
    ]
    widths = [max(map(len, c)) for c in columns]
    room, shown = shutil.get_terminal_size((120, 24)).columns - 1, 0
    while shown < len(widths) and room >= widths[shown] + 3:
        room -= widths[shown] + 3
        shown += 1
    shown = max(shown, 1)
    left_out = len(columns) - shown
    columns, widths = columns[:shown], widths[:shown]
    rights = [_right(f.type) for f in first.schema][:shown]

    def line(left: str, middle: str, right: str) -> str:
        return left + middle.join("─" * (w + 2) for w in widths) + right

    def row(i: int) -> str:
        cells = (c[i].rjust(w) if r else c[i].ljust(w) for c, w, r in zip(columns, widths, rights, strict=True))
        return "│ " + " │ ".join(cells) + " │"

    body = [row(i) for i in range(first.num_rows + 2)]
    footer = _footer(first.num_rows, more, rows)
    if left_out:
        footer += f"; {left_out} more columns" if left_out > 1 else "; 1 more column"
    return "\n".join([line("┌", "┬", "┐"), *body[:2], line("├", "┼", "┤"), *body[2:], line("└", "┴", "┘"), footer])


def as_html(first: pa.Table, more: bool, rows: int | None) -> str:
    """Return the first rows as a table of HTML."""
    heads = "".join(
        f"<th>{html.escape(f.name)}<br><small>{html.escape(str(f.type))}</small></th>" for f in first.schema
    )
    lines = zip(*(first.column(i).to_pylist() for i in range(first.num_columns)), strict=True)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(_cell(v))}</td>" for v in values) + "</tr>" for values in lines)
    return (
        f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
        f"<small>{_footer(first.num_rows, more, rows)}</small>"
    )
