"""How the private server of this process is started."""

from __future__ import annotations

import os
from pathlib import Path

from ._errors import ServerError


class Settings:
    """The settings of ``configure``. None leaves a setting to the server."""

    def __init__(
        self,
        memory_limit: str | int | None = None,
        threads: int | None = None,
        device: str | None = None,
        temp_dir: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
        max_recursion: int | None = None,
        max_pairs: int | None = None,
    ) -> None:
        self.memory_limit = memory_limit
        self.threads = threads
        self.device = device
        self.temp_dir = temp_dir
        self.progress = progress
        self.max_recursion = max_recursion
        self.max_pairs = max_pairs

    def arguments(self) -> list[str]:
        """Return the flags of ``mpga serve``."""
        out = []
        for flag, value in (
            ("--memory-limit", self.memory_limit),
            ("--threads", self.threads),
            ("--device", self.device),
            ("--temp-dir", None if self.temp_dir is None else os.fspath(self.temp_dir)),
            ("--max-recursion", self.max_recursion),
            ("--max-pairs", self.max_pairs),
        ):
            if value is not None:
                out += [flag, str(value)]
        return out


def program() -> str:
    """Return the path of the program, which a wheel has inside. MPGA_BINARY names another."""
    path = os.environ.get("MPGA_BINARY") or str(Path(__file__).with_name("bin") / "mpga")
    if not os.access(path, os.X_OK):
        raise ServerError(f"{path}: the program mpga is not there; install a wheel, or name the program in MPGA_BINARY")
    return path
