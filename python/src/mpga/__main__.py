"""The program mpga, for ``python -m mpga`` and the script of the wheel."""

import os
import sys

from ._settings import program


def main() -> None:
    """Become the program."""
    path = program()
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
