#!/usr/bin/env python3
"""Usage: portable_numbers.py

Fails where a layer that makes batches calls a function of the C library whose last bits differ from library to library. Those of
base/numbers/portable_math.hpp give the same bytes on every machine."""

import pathlib
import re
import sys

from include_graph import ORDER

ROOT = pathlib.Path(__file__).resolve().parents[2]
INEXACT = r"(?<![\w:.>])(?:std::)?(a?(?:sin|cos|tan)h?|atan2|exp2?|expm1|log(?:2|10|1p)?|pow|cbrt|hypot|[tl]gamma|erfc?)[fl]?\("
DISTRIBUTION = r"std::(normal|uniform|bernoulli|discrete|poisson|gamma|exponential)\w*_distribution|std::shuffle\b"


def main():
    strange = []
    # Figures of overview and bench are for people, and remote draws only waits.
    for layer in [*(ORDER.keys() - {"overview", "bench", "remote"}), "penstock"]:
        for path in sorted((ROOT / layer).rglob("*.[ch]pp")):
            text = re.sub(r"//.*|\"(\\.|[^\"\\\n])*\"", "", path.read_text())
            if path.stem == "portable_math":
                text = re.sub(r"^double \w+\(double x\)", "", text, flags=re.MULTILINE)
            for number, line in enumerate(text.splitlines(), 1):
                found = re.search(f"{INEXACT}|{DISTRIBUTION}", line)
                if found:
                    strange.append(f"{path.relative_to(ROOT)}:{number}: {found[0]}")
    if strange:
        sys.exit("not the same on every machine (base/numbers/portable_math.hpp has what is):\n" + "\n".join(strange))


if __name__ == "__main__":
    main()
