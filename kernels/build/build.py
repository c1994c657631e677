"""Compiles the CUDA sources of package kernels into what the binary embeds.

    python build.py DIRECTORY_OF_NVRTC DIRECTORY_OF_ARCHIVES [-check]

Needs nothing of CUDA but NVIDIA's run-time compiler, from PyPI: the wheel of nvcc 12.9 has no nvcc
in it, and one of version 13 makes code that driver 525 does not load. Both hold the same compiler.
With -check, compiles for one target only.

DIRECTORY_OF_ARCHIVES gets an archive for every target, which pack.go packs or compares: sm_90.zip has machine
code, compute_75.zip has PTX, each with a member for every source. cuda/stamp is the hash of what they were made from.
DIRECTORY_OF_ARCHIVES.cache keeps what was compiled, by the hash of a source with its headers.
"""

import concurrent.futures
import ctypes
import glob
import hashlib
import os
import re
import shutil
import sys
import zipfile

VERSION = "12.9"
MACHINES = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]
TARGETS = MACHINES + ["compute_75"]
FLAGS = ["-std=c++17", "-default-device", "-w"]

KERNELS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(path):
    with open(path, "rb") as f:
        return f.read()


def sources():
    """The text of every source and header, by name."""
    paths = [p for e in ("*.cu", "*.cuh", "*.h") for p in glob.glob(os.path.join(KERNELS, e))]
    return {os.path.basename(p): read(p) for p in sorted(paths) if os.path.basename(p) != "driver.h"}


def stamp(texts):
    h = hashlib.sha256()
    for line in [VERSION, " ".join(TARGETS), " ".join(FLAGS)]:
        h.update(line.encode() + b"\n")
    for name in sorted(texts):
        h.update(("%s %d\n" % (name, len(texts[name]))).encode() + texts[name])
    return h.hexdigest() + "\n"


class Compiler:
    def __init__(self, directory):
        os.environ["LD_LIBRARY_PATH"] = directory
        ctypes.CDLL(os.path.join(directory, "libnvrtc-builtins.so." + VERSION), mode=ctypes.RTLD_GLOBAL)
        self.lib = ctypes.CDLL(os.path.join(directory, "libnvrtc.so.12"))
        self.lib.nvrtcGetErrorString.restype = ctypes.c_char_p
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        found = "%d.%d" % (major.value, minor.value)
        if found != VERSION:
            sys.exit("the compiler in %s is of version %s, not %s" % (directory, found, VERSION))

    def call(self, name, *args):
        code = getattr(self.lib, name)(*args)
        if code != 0:
            raise RuntimeError("%s: %s" % (name, self.lib.nvrtcGetErrorString(code).decode()))

    def output(self, program, what):
        size = ctypes.c_size_t()
        self.call("nvrtcGet%sSize" % what, program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        self.call("nvrtcGet" + what, program, text)
        return text.raw

    def compile(self, texts, name, target):
        """Machine code of a source, or its PTX for a target that is no machine."""
        headers = [n for n in texts if not n.endswith(".cu")]
        strings = lambda items: (ctypes.c_char_p * len(items))(*items)
        program = ctypes.c_void_p()
        self.call("nvrtcCreateProgram", ctypes.byref(program), texts[name], name.encode(), len(headers),
                  strings([texts[n] for n in headers]), strings([n.encode() for n in headers]))
        options = [f.encode() for f in FLAGS + ["-arch=" + target]]
        try:
            self.call("nvrtcCompileProgram", program, len(options), strings(options))
        except RuntimeError as e:
            sys.exit("%s for %s: %s\n%s" % (name, target, e, self.output(program, "ProgramLog").rstrip(b"\0").decode()))
        return self.output(program, "CUBIN" if target in MACHINES else "PTX")


def included(texts, name, found=None):
    """The texts of a source and of the headers that it includes, by name."""
    found = {} if found is None else found
    if name not in found:
        found[name] = texts[name]
        for header in re.findall(rb'#include "([^"]+)"', texts[name]):
            included(texts, header.decode(), found)
    return found


def compile_one(directory, cache, texts, name, target):
    own = included(texts, name)
    kept = os.path.join(cache, hashlib.sha256((name + target + stamp(own)).encode()).hexdigest())
    if not os.path.exists(kept):
        made = Compiler(directory).compile(own, name, target)
        with open("%s.%d" % (kept, os.getpid()), "wb") as f:
            f.write(made)
        os.rename(f.name, kept)
    return "%s/%s" % (target, name[: -len(".cu")]), read(kept)


def compile_all(directory, cache, texts, targets):
    """What every source compiles to, by member of the archive; in processes, the largest sources first."""
    os.makedirs(cache, exist_ok=True)
    names = sorted((n for n in texts if n.endswith(".cu")), key=lambda n: ("PROGRAMS" not in texts[n].decode(), n))
    with concurrent.futures.ProcessPoolExecutor() as pool:
        jobs = [pool.submit(compile_one, directory, cache, texts, n, t) for n in names for t in targets]
        return dict(j.result() for j in jobs)


def write(members, directory):
    """Writes an uncompressed archive for each target."""
    for target in sorted({name.split("/")[0] for name in members}):
        with zipfile.ZipFile(os.path.join(directory, target + ".zip"), "w", zipfile.ZIP_STORED) as z:
            for name in sorted(n for n in members if n.startswith(target + "/")):
                z.writestr(zipfile.ZipInfo(name[len(target) + 1 :], (1980, 1, 1, 0, 0, 0)), members[name])


def main():
    compiler, directory, checking = sys.argv[1], sys.argv[2], sys.argv[3:] == ["-check"]
    texts = sources()
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    write(compile_all(compiler, directory + ".cache", texts, ["sm_90"] if checking else TARGETS), directory)
    if not checking:
        with open(os.path.join(KERNELS, "cuda", "stamp"), "w") as f:
            f.write(stamp(texts))


if __name__ == "__main__":
    main()
