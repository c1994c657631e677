"""Builds the program where nobody has, and gives a wheel its version, and the tag of the systems that it runs on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAM = "src/mpga/bin/mpga"
CLONE = Path(__file__).parents[1]

# The libraries that the standard of manylinux says are on every system.
LIBRARIES = {
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "libresolv.so.2",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
}


def described() -> str:
    """Return the version: of MPGA_VERSION, which make wheel sets, or of the clone."""
    given = os.environ.get("MPGA_VERSION")
    if given:
        return given
    for how in (["--tags", "--dirty"], ["--always", "--dirty"]):
        done = subprocess.run(["git", "describe", *how], cwd=CLONE, capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.strip() if how[0] == "--tags" else "v0.0.0-" + done.stdout.strip()
    return "v0.0.0"


def sortable(version: str) -> str:
    """Return a version as those of Python sort: v1.2.3-4-gabc is 1.2.3+4.gabc."""
    release, dash, rest = version.removeprefix("v").partition("-")
    return release + (dash and "+" + rest.replace("-", "."))


__version__ = sortable(described())


def build(program: Path) -> None:
    """Build the program, as make build does, with what Go has compiled before."""
    if shutil.which("go") is None:
        raise RuntimeError(
            f"{program} is not there, and Go is not, which builds it: install Go 1.26 and gcc, or a wheel"
        )
    flags = f"-s -w -X main.version={described()}"
    command = ["go", "build", "-trimpath", "-tags=grpcnotrace", "-ldflags", flags, "-o", str(program), "./cmd/mpga"]
    subprocess.run(command, cwd=CLONE, env={"CGO_CFLAGS": "-O0 -w", **os.environ}, check=True)


class ProgramHook(BuildHookInterface[Any]):
    """Has the program built, and finds the version of glibc that it wants."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Set the wheel's tag."""
        program = Path(self.root) / PROGRAM
        if not os.environ.get("MPGA_VERSION"):  # else make wheel has built it
            build(program)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform(program)}"


def platform(program: Path) -> str:
    """Return the platform of a program, as in manylinux_2_34_x86_64."""
    newest = (0, 0)
    with program.open("rb") as f:
        elf = ELFFile(f)
        if elf.get_machine_arch() != "x64":
            raise ValueError(f"{program}: want a program for x86_64, not {elf.get_machine_arch()}")
        for section in elf.iter_sections():
            if not isinstance(section, GNUVerNeedSection):
                continue
            for library, versions in section.iter_versions():
                if library.name not in LIBRARIES:
                    raise ValueError(f"{program} needs {library.name}, which a system may lack")
                for v in versions:
                    if m := re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", v.name):
                        newest = max(newest, (int(m[1]), int(m[2])))
    return f"manylinux_{newest[0]}_{newest[1]}_x86_64"
