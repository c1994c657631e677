"""The private server of this process."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from pathlib import Path
from typing import IO

from ._errors import InputError, ServerError
from ._settings import Settings, program

USAGE = 2  # the exit code of a wrong flag


class Server:
    """A child process ``mpga serve --private``.

    It ends when its standard input does, which the system closes when this process ends, however it
    ends. Its session is its own, so that Ctrl-C in a terminal does not reach it.
    """

    address: str  # of its socket, as in unix:/tmp/mpga-1/flight.sock

    def __init__(self, settings: Settings) -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile()
        command = [program(), "serve", "--private", "--log-level", "warn", *settings.arguments()]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, start_new_session=True
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().decode().strip()
        if not self.address:
            said = settings.named(self.log().removeprefix("mpga: "))
            if self._process.wait() == USAGE:
                raise InputError(said)
            raise ServerError(f"the server has not started: {said or 'it says nothing'}")

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def alive(self) -> bool:
        """Say whether the server runs."""
        return self._process.poll() is None

    def log(self) -> str:
        """Return the end of what the server has logged."""
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), 1 << 14, max(0, size - (1 << 14))).decode(errors="replace").strip()

    def stop(self) -> None:
        """End the server, and remove what a server that was killed has left of its socket."""
        self._close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        socket = Path(self.address.removeprefix("unix:"))
        with contextlib.suppress(OSError):
            socket.unlink(missing_ok=True)
            socket.parent.rmdir()

    def disown(self) -> None:
        """Give up a server that belongs to the parent of this process."""
        self._process.returncode = 0  # not ours to wait for
        self._close()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._log.close()
