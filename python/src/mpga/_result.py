"""The rows of a statement."""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _show
from ._connection import progress_wanted
from ._progress import Progress
from ._statement import Statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd
    import polars as pl
    import pyarrow as pa

# A result that is shown is kept, if it is not larger: the next call then needs no other run.
KEPT_BYTES_MAX = 256 << 20


class Result:
    """The result of a statement.

    The statement runs when rows are asked for first; CREATE and DROP run at once. ``arrow`` and what is made of it keep the rows;
    ``reader`` and the Arrow C stream do not, so that a result may be larger than the memory. Rows that
    are not kept are computed again when they are asked for again.
    """

    def __init__(self, prepare: Callable[[bool], Statement]) -> None:
        self._prepare = prepare
        self._statement = prepare(False)
        self._rows: pa.Table | None = None
        self._first: tuple[pa.Table, bool] | None = None
        if self._statement.update:
            self.arrow()

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""
        return self._statement.schema

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    def arrow(self) -> pa.Table:
        """Return all rows."""
        if self._rows is None:
            self._rows = self._statement.table(Progress(progress_wanted()))
        return self._rows

    def reader(self) -> pa.RecordBatchReader:
        """Return the rows as a stream, which holds a few batches at a time."""
        import pyarrow as pa

        if self._rows is not None:
            return self._rows.to_reader()
        return pa.RecordBatchReader.from_batches(self.schema, self._statement.batches(Progress(progress_wanted())))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.reader().__arrow_c_stream__(requested_schema)

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """Return all rows as a frame of pandas. Options are those of ``pyarrow.Table.to_pandas``."""
        return self.arrow().to_pandas(**options)

    def to_polars(self) -> pl.DataFrame:
        """Return all rows as a frame of Polars."""
        import polars as pl

        frame = pl.from_arrow(self.arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows as tuples of Python values."""
        table = self.arrow()
        return list(zip(*(c.to_pylist() for c in table.columns), strict=True))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Return the rows one after the other, as tuples of Python values."""
        for batch in self.reader():
            yield from zip(*(c.to_pylist() for c in batch.columns), strict=True)

    def explain(self) -> Plan:
        """Return how the statement is answered."""
        return Plan(self._statement.explain())

    def report(self) -> Report:
        """Run the statement once more, and return a page about what it did."""
        statement = self._prepare(True)
        for _ in statement.batches(Progress(progress_wanted())):
            pass
        return Report(statement.report())

    def _head(self) -> tuple[pa.Table, bool, int | None]:
        """Return the first rows, whether there are more, and how many there are, if that is known."""
        import pyarrow as pa

        if self._rows is None and self._first is None:
            batches, size, whole = [], 0, True
            stream = self._statement.batches(Progress(progress_wanted()))
            for batch in stream:
                batches.append(batch)
                size += batch.get_total_buffer_size()
                if size > KEPT_BYTES_MAX:
                    whole = False
                    stream.close()
                    break
            table = pa.Table.from_batches(batches, self.schema)
            if whole:
                self._rows = table
            else:
                self._first = (pa.concat_tables([table.slice(0, _show.ROWS_MAX)]).combine_chunks(), True)
        if self._rows is not None:
            rows = self._rows.num_rows
            return self._rows.slice(0, _show.ROWS_MAX), rows > _show.ROWS_MAX, rows
        assert self._first is not None
        return *self._first, None

    def __repr__(self) -> str:
        return _show.as_text(*self._head())

    def _repr_html_(self) -> str:
        return _show.as_html(*self._head())


class Plan(str):
    """A plan, which is shown as it is."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self)}</pre>"


class Report:
    """A page of HTML about what a query did: its plan, its times, and its partitions and tables."""

    def __init__(self, page: str) -> None:
        self.html = page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file."""
        Path(path).write_text(self.html, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<mpga.Report of {len(self.html):,} characters; save(path) writes it>"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="600" frameborder="0"></iframe>'
