"""What a query can read: files, and tables in memory, which are sent to the server."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import _wire
from ._connection import Connection
from ._errors import CancelledError

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


def is_table(value: object) -> bool:
    """Say whether a value is a table in memory, or a stream of rows."""
    if isinstance(value, type):
        return False
    kind = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"
    return (
        hasattr(value, "__arrow_c_stream__")
        or hasattr(value, "__arrow_c_array__")
        and kind == "pyarrow.RecordBatch"
        or kind in ("pandas.DataFrame", "polars.LazyFrame", "pyarrow.Scanner")
        or _is_dataset(value)
    )


def _is_dataset(value: object) -> bool:
    return type(value).__module__ == "pyarrow._dataset" and hasattr(value, "scanner")


def described(value: Any, connection: Connection, held: list[TemporaryTable], stop: threading.Event) -> dict[str, Any]:
    """Return what a name stands for, in the words of the server.

    Tables that were sent go to held. When stop is set, nothing more is sent.
    """
    if isinstance(value, (str, os.PathLike)):
        return {"files": [_path(value)]}
    if isinstance(value, (list, tuple)):
        if not value:
            raise ValueError("a list of tables or paths is empty")
        if all(isinstance(v, (str, os.PathLike)) for v in value):
            return {"files": [_path(v) for v in value]}
        table = _send(_batches_of_all(value), connection, stop)
    elif (known := _sent_before(value, connection)) is not None:
        table = known
    else:
        table = _send(_reader(value), connection, stop)
        _remember(value, table)
    held.append(table)
    return {"table": table.name}


def _path(value: str | os.PathLike[str]) -> str:
    return os.fspath(value)


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
        return pa.table(dict(value)).to_reader()
    module = type(value).__module__.partition(".")[0]
    if module == "pandas" and type(value).__name__ == "DataFrame":
        return pa.Table.from_pandas(value, preserve_index=False).to_reader()
    if module == "polars" and type(value).__name__ == "LazyFrame":
        value = value.collect(engine="streaming")
    if _is_dataset(value):
        value = value.scanner()
    if type(value).__module__ == "pyarrow._dataset":
        return value.to_reader()
    if hasattr(value, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(value)
    raise TypeError(
        f"a query cannot read a {type(value).__qualname__}: want a path, a URL, an Arrow table or stream, "
        "a pandas or Polars frame, or a list of these"
    )


def _batches_of_all(values: Iterable[Any]) -> pa.RecordBatchReader:
    """Return the rows of all tables, which must have the same columns."""
    import pyarrow as pa

    readers = []
    for v in values:
        if isinstance(v, (str, os.PathLike)):
            raise TypeError("a list has paths and tables: want the one or the other")
        readers.append(_reader(v))
    schema = readers[0].schema
    for i, r in enumerate(readers):
        if not r.schema.equals(schema):
            raise ValueError(
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
