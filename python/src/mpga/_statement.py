"""A statement that the server has prepared, and its rows."""

from __future__ import annotations

import base64
import contextlib
import json
import weakref
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

from . import _wire
from ._connection import Connection, interruptibly
from ._errors import InputError, ServerError
from ._inputs import TemporaryTable, put
from ._progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import flight


class Statement:
    """A statement at the server, which may be run any number of times."""

    def __init__(
        self, connection: Connection, request: dict[str, Any], params: Sequence[Any] | None, held: list[TemporaryTable]
    ) -> None:
        import pyarrow as pa

        self._connection = connection
        self._held = held  # the tables that the statement reads
        answer = json.loads(interruptibly(lambda: connection.act("Prepare", request), None))
        self._handle: str = answer["handle"]
        weakref.finalize(self, connection.drop_later, "Forget", self._handle).atexit = False
        self.schema: pa.Schema = pa.ipc.open_stream(base64.b64decode(answer["schema"])).schema
        self.types: list[str] = answer.get("types", [])
        self.update: bool = answer.get("update", False)  # a CREATE, a DROP or a COPY
        if params is not None or answer.get("parameters"):
            self._bind(list(params or ()), answer.get("parameters", 0))

    def _bind(self, values: list[Any], wanted: int) -> None:
        import pyarrow as pa

        if len(values) != wanted:
            raise InputError(f"parameters of the statement: {wanted}; values that are given: {len(values)}")
        if not values:
            return
        batch = pa.record_batch([pa.array([v]) for v in values], names=[f"p{i + 1}" for i in range(len(values))])
        put(batch.schema, [batch], self._connection, _wire.prepared_query(self._handle))

    def batches(self, progress: Progress) -> Generator[pa.RecordBatch, None, None]:
        """Run the statement, and return its rows as they come."""
        from pyarrow import flight

        with self._connection.call() as client, progress:
            reader: flight.FlightStreamReader | None = None
            ticket = flight.Ticket(_wire.prepared_query(self._handle))
            watch = self._watch(progress)
            try:
                reader = interruptibly(lambda: client.do_get(ticket), self.cancel, watch)
                while True:
                    try:
                        chunk = interruptibly(reader.read_chunk, self.cancel, watch)
                    except StopIteration:
                        reader = None
                        return
                    progress.fetched += chunk.data.num_rows
                    yield chunk.data
            finally:
                if reader is not None:
                    reader.cancel()
                    with contextlib.suppress(ServerError):  # which may have ended before, with the interpreter
                        self.cancel()

    def table(self, progress: Progress) -> pa.Table:
        """Run the statement, and return all its rows."""
        import pyarrow as pa
        from pyarrow import flight

        ticket = flight.Ticket(_wire.prepared_query(self._handle))

        def fetch() -> pa.Table:
            reader = client.do_get(ticket)
            batches = []
            for chunk in reader:
                batches.append(chunk.data)
                progress.fetched += chunk.data.num_rows
            return pa.Table.from_batches(batches, reader.schema)

        with self._connection.call() as client, progress:
            return interruptibly(fetch, self.cancel, self._watch(progress))

    def _watch(self, progress: Progress) -> Callable[[], object] | None:
        """Return what shows how far the statement is, or None if nobody looks."""
        return (lambda: progress.show(self.progress())) if progress.on else None

    def cancel(self) -> None:
        """End the runs of the statement."""
        self._connection.act("Cancel", self._handle)

    def explain(self) -> str:
        """Return the plan."""
        return self._connection.act("Explain", self._handle).decode()

    def progress(self) -> dict[str, Any]:
        """Return how far the last run is."""
        how_far: dict[str, Any] = json.loads(self._connection.act("Progress", self._handle))
        return how_far

    def report(self) -> str:
        """Return a page of HTML about the last run."""
        return self._connection.act("Report", self._handle).decode()
