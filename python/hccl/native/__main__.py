"""`python -m hccl.native --out DIR [NAME...]`: puts modules for this Python's torch into a folder, for an installation.

They come from the cache, so a second time costs nothing where nothing changed. What else lies in the folder stays.
"""

import argparse
import os
import shutil
import sys

from hccl import native
from hccl.native import build


def main():
    parser = argparse.ArgumentParser(
        prog="python -m hccl.native", description="Compiles extension modules for the torch of this Python."
    )
    parser.add_argument("--out", metavar="DIR", required=True, help="folder for the modules; made when missing")
    parser.add_argument("names", metavar="NAME", nargs="*", help="modules; all when none is named")
    arguments = parser.parse_args()
    # Compiling asks torch for its flags. Its backends are not wanted for that: ours may need what is made here.
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    os.makedirs(arguments.out, exist_ok=True)
    for name in arguments.names or build.names():
        try:
            path = build.built(name)
        except (build.Failure, ImportError) as error:
            sys.exit(f"hccl.native: {name}: {error}")
        target = os.path.join(arguments.out, native.file_name(name))
        shutil.copyfile(path, target + ".new")
        os.replace(target + ".new", target)
        print(target)


if __name__ == "__main__":
    main()
