"""The rows of a statement."""

from __future__ import annotations

import functools
import html
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _show
from ._connection import progress_wanted
from ._errors import InputError, lacks, public
from ._progress import Progress
from ._statement import Statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pandas as pd
    import polars
    import pyarrow as pa

# A result that is shown is kept, if it is not larger: the next call then needs no other run.
KEPT_BYTES_MAX = 256 << 20


class Result:
    """The result of a statement.

    The statement runs when rows are asked for first; CREATE, DROP and COPY run at once. ``arrow`` and what is made of
    it keep the rows; ``reader``, iteration, ``fetchone``, ``fetchmany`` and the Arrow C stream do not, so that a result
    may be larger than the memory. Rows that are not kept are computed again when they are asked for again.
    """

    def __init__(self, prepare: Callable[..., Statement]) -> None:
        self._prepare = prepare
        self._rows: pa.Table | None = None
        self._first: pa.Table | None = None
        self._left: Iterator[tuple[Any, ...]] | None = None  # rows that fetchone and fetchmany have not returned

    @functools.cached_property
    def _statement(self) -> Statement:
        return self._prepare()

    def _begin(self) -> None:
        """Prepare the statement, and run one that changes something."""
        if self._statement.update:
            self.arrow()

    @property
    @public
    def schema(self) -> pa.Schema:
        """The names and types of the columns, as Arrow has them."""
        return self._statement.schema

    @property
    @public
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._statement.schema.names)

    @property
    @public
    def types(self) -> list[str]:
        """The types of the columns, by their names in SQL."""
        return list(self._statement.types)

    @property
    @public
    def description(self) -> list[tuple[str, str, None, None, None, None, None]]:
        """Names and types, as a cursor of Python's DBAPI has them."""
        return [(name, kind, None, None, None, None, None) for name, kind in zip(self.columns, self.types, strict=True)]

    @property
    @public
    def shape(self) -> tuple[int, int]:
        """How many rows and columns there are. All rows are read for that."""
        return len(self), len(self.columns)

    @public
    def __len__(self) -> int:
        return int(self.arrow().num_rows)

    def __bool__(self) -> bool:
        return True  # also of a result without rows: nothing is read for that

    @public
    def arrow(self) -> pa.Table:
        """Return all rows."""
        if self._rows is None:
            self._rows = self._statement.table(Progress(progress_wanted()))
        return self._rows

    @public
    def reader(self) -> pa.RecordBatchReader:
        """Return the rows as a stream, which holds a few batches at a time."""
        import pyarrow as pa

        if self._rows is not None:
            return self._rows.to_reader()
        return pa.RecordBatchReader.from_batches(self.schema, self._statement.batches(Progress(progress_wanted())))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.reader().__arrow_c_stream__(requested_schema)

    @public
    def df(self, **options: Any) -> pd.DataFrame:
        """Return all rows as a frame of pandas. Options are those of ``pyarrow.Table.to_pandas``."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise lacks("pandas") from None
        return self.arrow().to_pandas(**options)

    to_pandas = df

    @public
    def pl(self) -> polars.DataFrame:
        """Return all rows as a frame of Polars."""
        try:
            import polars
        except ImportError:
            raise lacks("polars") from None
        frame = polars.from_arrow(self.arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    to_polars = pl

    @public
    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows, or what ``fetchone`` and ``fetchmany`` have left, as tuples of Python values."""
        if self._left is not None:
            return list(self._left)
        table = self.arrow()
        return list(zip(*(c.to_pylist() for c in table.columns), strict=True))

    @public
    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row, or None behind the last."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    @public
    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """Return the next rows, ``size`` at most, or none behind the last."""
        if self._left is None:
            self._left = iter(self)
        return [row for _, row in zip(range(size), self._left, strict=False)]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Return the rows one after the other, as tuples of Python values."""
        for batch in self.reader():
            yield from zip(*(c.to_pylist() for c in batch.columns), strict=True)

    @public
    def write(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        partition_by: str | Sequence[str] = (),
        overwrite: bool = False,
        **options: Any,
    ) -> int:
        """Run the statement, write its rows to a file, whole or not at all, and return how many there are.

        The server writes, so that the rows may be more than the memory holds.

        Args:
            path: A file, or an object such as ``s3://bucket/x.parquet``. With ``partition_by`` a directory.
            format: ``"parquet"``, ``"csv"``, ``"tsv"``, ``"json"``, ``"arrow"`` or ``"markdown"``; as the path ends.
            partition_by: Columns; rows go to a folder for each of their values, as in ``year=2026/``.
            overwrite: Whether a directory is replaced that is there. A file is.
            options: Further options of COPY: ``compression="zstd"``, ``header=False``, ``delimiter=";"``.
        """
        given = {**options, "format": format, "overwrite": overwrite or None}
        given["partition_by"] = [partition_by] if isinstance(partition_by, str) else list(partition_by) or None
        output = {
            "to": os.fspath(path),
            "options": {name: _words(value) for name, value in given.items() if value is not None},
        }
        statement = self._prepare(output=output)
        return int(statement.table(Progress(progress_wanted())).column(0)[0].as_py())

    @public
    def explain(self) -> Plan:
        """Return how the statement is answered."""
        return Plan(self._statement.explain())

    @public
    def report(self) -> Report:
        """Run the statement once more, and return a page about what it did."""
        statement = self._prepare(record=True)
        for _ in statement.batches(Progress(progress_wanted())):
            pass
        return Report(statement.report())

    @public
    def show(self, rows: int = _show.ROWS_MAX) -> None:
        """Print the first rows."""
        print(_show.as_text(*self._head(rows)))

    def _head(self, most: int = _show.ROWS_MAX) -> _show.Head:
        """Return the first rows."""
        import pyarrow as pa

        if self._rows is None and (self._first is None or self._first.num_rows < most):
            batches, size, count, whole = [], 0, 0, True
            stream = self._statement.batches(Progress(progress_wanted()))
            for batch in stream:
                batches.append(batch)
                size += batch.get_total_buffer_size()
                count += batch.num_rows
                if size > KEPT_BYTES_MAX and count >= most:
                    whole = False
                    stream.close()
                    break
            table = pa.Table.from_batches(batches, self.schema)
            if whole:
                self._rows = table
            else:
                self._first = pa.concat_tables([table.slice(0, most)]).combine_chunks()
        if self._rows is not None:
            count = self._rows.num_rows
            return _show.Head(self._rows.slice(0, most), self.types, count > most, count)
        assert self._first is not None
        return _show.Head(self._first.slice(0, most), self.types, True, None)

    @public
    def __repr__(self) -> str:
        return _show.as_text(*self._head())

    @public
    def _repr_html_(self) -> str:
        return _show.as_html(*self._head())


def _words(value: Any) -> list[str]:
    """Return the value of an option as the words that COPY has for it."""
    if isinstance(value, (list, tuple)):
        return [word for v in value for word in _words(v)]
    if isinstance(value, bool):
        return [str(value).lower()]
    if isinstance(value, (str, int)):
        return [str(value)]
    raise InputError(f"{value!r} is no value of an option: want a text, a number, True or False, or a list of them")


class Plan(str):
    """A plan, which is shown as it is."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        style = "font-family: monospace; white-space: pre; overflow-x: auto; line-height: 1.2; text-align: left"
        return f'<pre style="{style}">{html.escape(self)}</pre>'


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
