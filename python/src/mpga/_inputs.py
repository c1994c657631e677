"""What a query can read: files, and tables in memory, which are sent to the server."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import _wire
from ._connection import Connection
from ._errors import CancelledError, InputError

if TYPE_CHECKING:
    import pyarrow as pa

# Rows of about so many bytes are a message: it has a size that the caches of both sides hold.
MESSAGE_BYTES = 2 << 20


class TemporaryTable:
    """A table of the session. It is dropped when nothing refers to it any more."""

    def __init__(self, connection: Connection, name: str) -> None:
        self.connection = connection
        self.name = name
        self._finalizer = weakref.finalize(self, connection.drop_later, "Drop", name)
        self._finalizer.atexit = False  # the server ends then


_sent: dict[int, TemporaryTable] = {}  # by the identity of an Arrow table that is alive


class Kept:
    """A table that is sent when it is needed first, and not again."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.table: TemporaryTable | None = None


def _kind(value: object) -> str:
    return f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"


def is_table(value: object) -> bool:
    """Say whether a value is a table in memory, or a stream of rows."""
    if isinstance(value, type):
        return False
    kind = _kind(value)
    return (
        hasattr(value, "__arrow_c_stream__")
        and kind not in ("polars.Series", "pandas.Series", "pyarrow.ChunkedArray")
        or hasattr(value, "__arrow_c_array__")
        and kind == "pyarrow.RecordBatch"
        or kind in ("pandas.DataFrame", "polars.LazyFrame", "pyarrow.Scanner")
        or _is_dataset(value)
    )


def _is_dataset(value: object) -> bool:
    return type(value).__module__ == "pyarrow._dataset" and hasattr(value, "scanner")


def _is_path(value: object) -> bool:
    return isinstance(value, (str, os.PathLike))


def described(value: Any, connection: Connection, held: list[TemporaryTable], stop: threading.Event) -> dict[str, Any]:
    """Return what a name stands for, in the words of the server.

    Tables that were sent go to held. When stop is set, nothing more is sent.
    """
    kept = value if isinstance(value, Kept) else None
    if kept is not None:
        value = kept.value
    if isinstance(value, (str, os.PathLike)):
        return {"files": [os.fspath(value)]}
    if isinstance(value, (list, tuple)) and all(map(_is_path, value)) and value:
        return {"files": [os.fspath(v) for v in value]}
    if kept is not None and kept.table is not None and kept.table.connection is connection:
        table = kept.table
    elif (known := _sent_before(value, connection)) is not None:
        table = known
    else:
        table = _send(_reader(value), connection, stop)
        _remember(value, table)
    if kept is not None:
        kept.table = table
    held.append(table)
    return {"table": table.name}


def _sent_before(value: object, connection: Connection) -> TemporaryTable | None:
    table = _sent.get(id(value))
    return table if table is not None and table.connection is connection else None


def _remember(value: object, table: TemporaryTable) -> None:
    """Keep a table at the server as long as the value is alive, if the value does not change."""
    import pyarrow as pa

    if not isinstance(value, (pa.Table, pa.RecordBatch)):
        return
    key = id(value)
    _sent[key] = table
    weakref.finalize(value, _sent.pop, key, None).atexit = False


def _reader(value: Any) -> pa.RecordBatchReader:
    """Return the rows of a table in memory, or of a stream."""
    import pyarrow as pa

    if isinstance(value, pa.RecordBatchReader):
        return value
    if isinstance(value, pa.Table):
        return value.to_reader()
    if isinstance(value, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(value.schema, [value])
    if isinstance(value, Mapping):
        return _of_columns(value).to_reader()
    if isinstance(value, (list, tuple)):
        return _of_list(value)
    kind = _kind(value)
    if kind == "pandas.Series":
        value, kind = value.to_frame("value" if value.name is None else value.name), "pandas.DataFrame"
    if kind == "pandas.DataFrame":
        return _of_pandas(value).to_reader()
    if kind == "polars.Series":
        return pa.table({value.name or "value": value.to_arrow()}).to_reader()
    if isinstance(value, (pa.Array, pa.ChunkedArray)) or kind == "numpy.ndarray" and value.ndim == 1:
        return pa.table({"value": value}).to_reader()
    if kind == "polars.LazyFrame":
        value = value.collect(engine="streaming")
    if _is_dataset(value):
        value = value.scanner()
    if type(value).__module__ == "pyarrow._dataset":
        return value.to_reader()
    if hasattr(value, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(value)
    raise InputError(
        f"a query cannot read a value of type {type(value).__qualname__}: want a path, a URL, an Arrow table or "
        "stream, a frame or a Series of pandas or Polars, a dict of columns, or a list of these or of dicts"
    )


def _of_pandas(frame: Any) -> pa.Table:
    """Return the columns of a frame, and before them the levels of its index that have names."""
    import pyarrow as pa

    named = [name for name in frame.index.names if name is not None and name not in frame.columns]
    if named:
        others = [i for i, name in enumerate(frame.index.names) if name not in named]
        frame = frame.droplevel(others) if others else frame
        frame = frame.reset_index()
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except pa.ArrowException as e:
        for name in frame.columns:
            values = frame[name]
            if values.dtype != object:
                continue
            kinds = sorted({type(v).__name__ for v in values.dropna()})
            try:
                pa.array(values, from_pandas=True)
            except pa.ArrowException:
                raise InputError(
                    f'column "{name}" has values of {" and ".join(kinds)}, and a column has one type: '
                    f'frame["{name}"].astype(str) makes texts of them'
                ) from None
        raise InputError(f"the frame cannot be read: {e}") from None


def _of_columns(columns: Mapping[Any, Any]) -> pa.Table:
    """Return a table of columns by names."""
    import pyarrow as pa

    arrays: dict[str, Any] = {}
    for name, values in columns.items():
        if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
            raise InputError(
                f'column "{name}" has the type {type(values).__qualname__}: want its values, as a list or array'
            )
        try:
            arrays[str(name)] = pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)
        except (pa.ArrowException, OverflowError) as e:
            raise InputError(f'column "{name}": {e}') from None
    rows = {name: len(a) for name, a in arrays.items()}
    if len(set(rows.values())) > 1:
        raise InputError("columns differ in their rows: " + ", ".join(f"{name} has {n:,}" for name, n in rows.items()))
    return pa.table(arrays)


def _of_list(values: list[Any] | tuple[Any, ...]) -> pa.RecordBatchReader:
    """Return the rows of a list: of dicts, which are a row each, or of tables, which have the same columns."""
    import pyarrow as pa

    if not values:
        raise InputError("a list of tables, paths or dicts is empty")
    dicts = sum(isinstance(v, Mapping) and not any(isinstance(c, (list, tuple)) for c in v.values()) for v in values)
    if dicts == len(values):
        names = dict.fromkeys(str(name) for row in values for name in row)
        return _of_columns({name: [row.get(name) for row in values] for name in names}).to_reader()
    paths = sum(map(_is_path, values))
    if paths or dicts:
        raise InputError("a list has values of several kinds: want paths alone, tables alone, or dicts of a row each")
    readers = [_reader(v) for v in values]
    schema = readers[0].schema
    for i, r in enumerate(readers):
        if not r.schema.equals(schema):
            raise InputError(
                f"the tables of a list differ: item 0 has {_columns(schema)}; item {i} has {_columns(r.schema)}"
            )

    def batches() -> Iterator[pa.RecordBatch]:
        for r in readers:
            yield from r

    return pa.RecordBatchReader.from_batches(schema, batches())


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{f.name} {f.type}" for f in schema)


def _send(reader: pa.RecordBatchReader, connection: Connection, stop: threading.Event) -> TemporaryTable:
    """Send rows to a new table, as they come."""
    table = TemporaryTable(connection, connection.table_name())
    put(reader.schema, _until(stop, reader), connection, _wire.ingest(table.name))
    return table


def _until(stop: threading.Event, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if stop.is_set():
            raise CancelledError("the rows were not sent to their end")
        yield batch


def _size(batch: pa.RecordBatch) -> int:
    """Return how many bytes rows take, or more where an older pyarrow cannot tell, as of string views."""
    import pyarrow as pa

    try:
        return int(batch.nbytes)
    except pa.ArrowTypeError:
        return int(batch.get_total_buffer_size())


def put(schema: pa.Schema, batches: Iterable[pa.RecordBatch], connection: Connection, command: bytes) -> None:
    """Send rows by a command."""
    from pyarrow import flight

    with connection.call() as client:
        writer, answer = client.do_put(flight.FlightDescriptor.for_command(command), schema)
        with writer:
            for batch in batches:
                step = max(1, batch.num_rows * MESSAGE_BYTES // max(_size(batch), 1))
                for at in range(0, batch.num_rows, step):
                    writer.write_batch(batch.slice(at, step))
            writer.done_writing()
            answer.read()
