"""Hold that figures/ is what its CSVs draw: `python tools/redrawn.py` after `snakemake figures`.

Exit code 1 where a page or table differs from the last commit, or a picture visibly does: rounding
on another kind of processor may move a line by less than a pixel. A PDF is drawn as its PNG.
"""

import io
import subprocess
import sys

import numpy as np
from PIL import Image

LEVELS, SHARE = 48, 1e-3
"""Levels of 255 that a pixel may differ, and the share of pixels that may differ by more."""


def git(*arguments: str) -> bytes:
    """Return what git prints."""
    return subprocess.run(["git", *arguments], capture_output=True, check=True).stdout


def same_picture(path: str) -> bool:
    """Return whether a PNG looks as that of the last commit."""
    with Image.open(path) as new, Image.open(io.BytesIO(git("show", f"HEAD:{path}"))) as old:
        if new.size != old.size:
            return False
        pixels = [np.asarray(image.convert("RGB"), dtype=int) for image in (new, old)]
    return float((np.abs(pixels[0] - pixels[1]).max(axis=-1) > LEVELS).mean()) <= SHARE


def main() -> int:
    """Print what differs, and return 1 where something does."""
    changed = git("diff", "--name-only", "HEAD", "--", "figures").decode().split()
    unseen = {path for path in changed if path.endswith(".png") and same_picture(path)}
    unseen |= {path for path in changed if path.endswith(".pdf")}
    for path in sorted(set(changed) - unseen):
        print(f"{path} is not what its CSV draws: run `snakemake figures` and commit it")
    print(f"{len(changed)} files were redrawn to other bytes, {len(unseen)} of them unseen")
    return int(set(changed) > unseen)


if __name__ == "__main__":
    sys.exit(main())
