"""`python -m hccl`: what a C compiler needs to find this installation.

c++ $(python -m hccl --cflags) program.cc $(python -m hccl --libs)
"""

import argparse
import shlex
import sys

from hccl import places


def main():
    description = "Where this installation is, for C and C++ programs."
    parser = argparse.ArgumentParser(prog="python -m hccl", description=description)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--cflags", action="store_true", help="flags for compiling")
    what.add_argument("--libs", action="store_true", help="flags for linking, with a path to find the libraries later")
    arguments = parser.parse_args()
    include, libraries = places.include(), places.libraries()
    if include is None or libraries is None:
        sys.exit(f"the installation at {places.PACKAGE} has no headers or no libraries")
    linking = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lhccl", "-lascendcl", "-pthread"]
    print(shlex.join([f"-I{include}"] if arguments.cflags else linking))


if __name__ == "__main__":
    main()
