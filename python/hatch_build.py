"""Gives a wheel the tag of the systems that its program runs on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAM = "src/mpga/bin/mpga"

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


class ProgramHook(BuildHookInterface[Any]):
    """Finds the version of glibc that the program wants."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Set the wheel's tag."""
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform(Path(self.root) / PROGRAM)}"


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
