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
        overflow: str | None = None,
        timezone: str | None = None,
    ) -> None:
        self.memory_limit = memory_limit
        self.threads = threads
        self.device = device
        self.temp_dir = None if temp_dir is None else os.fspath(temp_dir)
        self.progress = progress
        self.max_recursion = max_recursion
        self.max_pairs = max_pairs
        self.overflow = overflow
        self.timezone = timezone

    def arguments(self) -> list[str]:
        """Return the flags of ``mpga serve``."""
        out = []
        for name, value in vars(self).items():
            if value is not None and name != "progress":
                out += [_flag(name), str(value)]
        return out

    def named(self, text: str) -> str:
        """Return a text of the program, in which settings have their names here."""
        for name in vars(self):
            text = text.replace(_flag(name), name)
        return text


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def program() -> str:
    """Return the path of the program, which a wheel has inside. MPGA_BINARY names another."""
    path = os.environ.get("MPGA_BINARY") or str(Path(__file__).with_name("bin") / "mpga")
    if not os.access(path, os.X_OK):
        raise ServerError(f"{path}: the program mpga is not there; install a wheel, or name the program in MPGA_BINARY")
    return path


def version() -> str:
    """Return the version of the package, or of the program where the package is not installed."""
    import subprocess
    from importlib import metadata

    try:
        return metadata.version("mpga")
    except metadata.PackageNotFoundError:
        done = subprocess.run([program(), "version"], capture_output=True, text=True, check=True)
        return done.stdout.split()[1].removeprefix("v")
