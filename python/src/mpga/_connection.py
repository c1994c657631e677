"""The connection to the private server: one for each process, and one session at the server."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import os
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ._errors import CancelledError, Error, ServerError, translated
from ._settings import Settings

if TYPE_CHECKING:
    from pyarrow import flight

T = TypeVar("T")

REST_SECONDS = 1.0  # how long a fork waits for calls and threads
DROP_SECONDS = 0.01  # how long what is dropped waits for more: a call for each takes as long as a small query


class Connection:
    """A server and the session of this process at it. It is safe for use by threads."""

    def __init__(self, settings: Settings) -> None:
        from ._server import Server  # subprocess and tempfile are half of the time of an import

        self.settings = settings
        self.server = Server(settings)
        self.closed = False
        self._cookie: str | None = None  # by which the session is found again after a fork
        self._client: flight.FlightClient | None = None
        self._calls = 0  # that use the client now
        self._lock = threading.Condition(threading.Lock())
        self._last_table = 0
        self._dropped: queue.SimpleQueue[tuple[str, str] | None] = queue.SimpleQueue()
        threading.Thread(target=self._drop, name="mpga-drop", daemon=True).start()

    @contextlib.contextmanager
    def call(self) -> Iterator[flight.FlightClient]:
        """Lend the client for a call, whose errors become errors of mpga."""
        import pyarrow as pa

        with self._lock:
            if self.closed:
                raise ServerError("the server that this belonged to has ended: run the statement again")
            if self._client is None:
                self._client = _new_client(self)
            client = self._client
            self._calls += 1
        try:
            yield client
        except pa.ArrowException as e:
            raise self._ended(translated(e)) from None
        finally:
            del client
            with self._lock:
                self._calls -= 1
                self._lock.notify_all()

    def _ended(self, error: Error) -> Error:
        """Return an error of a call, or that the server has ended."""
        with self._lock:
            if self.closed or self.server.alive():
                return error
            return ServerError(f"the server has ended: {self.server.log() or error}")

    def act(self, name: str, body: str | dict[str, Any]) -> bytes:
        """Do an action of the server, and return its answer."""
        from pyarrow import flight

        text = body if isinstance(body, str) else json.dumps(body)
        with self.call() as client:
            return b"".join(r.body.to_pybytes() for r in client.do_action(flight.Action("mpga." + name, text.encode())))

    def table_name(self) -> str:
        """Return a name for a temporary table, which no table has had."""
        with self._lock:
            self._last_table += 1
            return f"python_{self._last_table}"

    def drop_later(self, action: str, name: str) -> None:
        """Drop a table or forget a statement soon. Finalizers may call this from anywhere."""
        self._dropped.put((action, name))

    def _drop(self) -> None:
        while (item := self._dropped.get()) is not None:
            time.sleep(DROP_SECONDS)
            items = [item]
            while not self._dropped.empty() and (item := self._dropped.get()) is not None:
                items.append(item)
            for action, several in itertools.groupby(items, lambda item: item[0]):
                names = [name for _, name in several]
                for body in [" ".join(names)] if action == "Forget" else names:
                    with contextlib.suppress(Error):  # the server may have ended, and with it all tables
                        self.act(action, body)
            if item is None:
                return

    def rest(self) -> bool:
        """Close the client, so that no thread of it is there when the process forks.

        It returns False if a call needs the client for longer than a moment. Requires: self._lock is held.
        """
        if not self._lock.wait_for(lambda: self._calls == 0, timeout=REST_SECONDS):
            return False
        if self._client is None:
            return True
        self._client.close()
        self._client = None
        return _wait_for_threads()

    def close(self) -> None:
        """End the server."""
        with self._lock:
            self.closed = True
            self._client = None
            self._dropped.put(None)
            self.server.stop()


def _wait_for_threads() -> bool:
    """Wait until gRPC's threads, which end some time after the last client, are gone."""
    end = time.monotonic() + REST_SECONDS
    while _threads_of_grpc():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


def _threads_of_grpc() -> bool:
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if (task / "comm").read_text().startswith(("grpc_", "event_engine", "lifeguard")):
                return True
    return False


def _new_client(of: Connection) -> flight.FlightClient:
    from pyarrow import flight

    class Cookies(flight.ClientMiddleware):  # type: ignore[misc]
        """Keeps the session when the connection is made again."""

        def sending_headers(self) -> dict[str, str]:
            return {"cookie": of._cookie} if of._cookie else {}

        def received_headers(self, headers: dict[str, list[str]]) -> None:
            for line in headers.get("set-cookie", ()):
                of._cookie = line.split(";", 1)[0]

    class Factory(flight.ClientMiddlewareFactory):  # type: ignore[misc]
        def start_call(self, info: flight.CallInfo) -> flight.ClientMiddleware:
            return Cookies()

    # The client asks for the next rows before it has used those that have come.
    look_ahead = ("grpc.http2.lookahead_bytes", 8 << 20)
    options = [look_ahead, ("grpc.use_local_subchannel_pool", 1), ("grpc.client_idle_timeout_ms", 2**31 - 1)]
    address = of.server.address.replace("unix:", "grpc+unix://", 1)
    return flight.FlightClient(address, middleware=[Factory()], generic_options=options)


_lock = threading.RLock()
_settings = Settings()
_current: Connection | None = None
_opened: weakref.WeakSet[Any] = weakref.WeakSet()  # connections of DBAPI to the server of this process
_unusable = ""  # why this process cannot have a connection


def current() -> Connection:
    """Return the connection of this process, which is made when it is needed first."""
    global _current
    with _lock:
        if _unusable:
            raise ServerError(_unusable)
        if _current is not None and not _current.server.alive():
            close()
        if _current is None:
            _current = Connection(_settings)
        return _current


def configure(**changes: Any) -> None:
    """Change the settings, and start a server with them, which checks them, in place of one with others."""
    global _settings, _current
    with _lock:
        changed = Settings(**{**vars(_settings), **changes})
        if changed.arguments() != _settings.arguments():
            other = Connection(changed) if changed.arguments() else None
            close()
            _current = other
        _settings = changed


def settings() -> Settings:
    """Return the settings of ``configure``."""
    return _settings


def opened(connection: Any) -> None:
    """Note a connection of DBAPI, which is closed before the server ends."""
    _opened.add(connection)


def progress_wanted() -> bool | None:
    """Return the setting of the same name."""
    return _settings.progress


@atexit.register
def close() -> None:
    """End the server of this process, if it has one. The next query starts another."""
    global _current
    with _lock:
        if _current is not None:
            for opened in list(_opened):
                with contextlib.suppress(Exception):  # what its user has closed, or has half done
                    opened.close()
            _opened.clear()
            _current.close()
            _current = None


# gRPC's threads are not there in a child that was forked, where its calls would wait for ever. So
# the client is closed before a fork, which ends these threads, and is made again after it. The child
# starts a server of its own.
_rested = True


def _before_fork() -> None:
    global _rested
    _lock.acquire()
    if _current is not None:
        _current._lock.acquire()
        _rested = _current.rest()


def _after_fork_in_parent() -> None:
    if _current is not None:
        _current._lock.release()
    _lock.release()


def _after_fork_in_child() -> None:
    global _lock, _current, _unusable, _rested
    _lock = threading.RLock()
    _idle.clear()  # the threads are the parent's
    if _current is None:
        return
    _current._lock = threading.Condition(threading.Lock())
    _current.closed = True
    _current.server.disown()
    _current = None
    if not _rested:
        _unusable = (
            "this process was forked while its parent had a query of mpga, or another use of gRPC: "
            "start processes by spawn or forkserver, or fork between queries"
        )
    _rested = True


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


# Threads that wait for the next call: to start one takes as long as a small query.
_idle: list[queue.SimpleQueue[Callable[[], None]]] = []


def _start(work: Callable[[], None]) -> None:
    """Do some work in another thread."""
    try:
        tasks = _idle.pop()
    except IndexError:
        tasks = queue.SimpleQueue()
        threading.Thread(target=_work, args=(tasks,), name="mpga-call", daemon=True).start()
    tasks.put(work)


def _work(tasks: queue.SimpleQueue[Callable[[], None]]) -> None:
    while True:
        tasks.get()()
        _idle.append(tasks)


def _is_done(done: queue.SimpleQueue[None], seconds: float) -> bool:
    try:
        done.get(timeout=seconds)
    except queue.Empty:
        return False
    return True


def interruptibly(
    call: Callable[[], T], cancel: Callable[[], object] | None, watch: Callable[[], object] | None = None
) -> T:
    """Return what a call returns. Ctrl-C cancels it, and watch is called now and then meanwhile.

    Python hears signals in the main thread, between two instructions: so the call has another one. A
    call that cannot be cancelled is left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    done: queue.SimpleQueue[None] = queue.SimpleQueue()  # an Event takes longer
    value: list[T] = []
    error: list[BaseException] = []

    def work() -> None:
        try:
            value.append(call())
        except BaseException as e:  # noqa: BLE001 - it is raised in the main thread
            error.append(e)
        finally:
            done.put(None)

    _start(work)
    try:
        while not _is_done(done, 0.1):
            if watch is not None:
                watch()
    except BaseException:
        for _ in range(
            100 if cancel is not None else 0
        ):  # a call that has not reached the server yet is not there to be cancelled
            with contextlib.suppress(Error):
                cancel()  # type: ignore[misc]
            if _is_done(done, 0.05):
                break
        raise
    if error:
        if isinstance(error[0], CancelledError) and not str(error[0]):
            raise CancelledError("the query was cancelled") from None
        raise error[0]
    return value[0]
