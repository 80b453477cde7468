"""Random damage to datasets that Python programs open: each trial ends in the rows that were written, or in a ps.Error.

Usage: PYTHONPATH=build/release/python python tests/python/campaign.py [--seed S] [--count N] [--seconds T] [--replay N]

Each trial runs in a process of its own, forked from this one, which never makes a loader. Exit 1 with findings.
"""

import argparse
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback

import numpy

import penstock as ps

SAMPLES = 12
PATIENCE = 60  # seconds; a trial takes a fraction of one
RIGHT, REFUSED, WRONG = 0, 10, 20


def write_source(folder):
    draws = numpy.random.default_rng(5)
    for i in range(SAMPLES):
        sample = folder / ("cat" if i % 2 else "dog") / f"s{i:03d}"
        sample.parent.mkdir(parents=True, exist_ok=True)
        numpy.save(
            sample.with_suffix(".npy"), draws.integers(0, 255, (40 if i % 4 == 0 else 5, 8, 256), dtype=numpy.uint8)
        )
        sample.with_suffix(".cls").write_text(str(i % 5))


def rows_of(path, **options):
    """{key: bytes of the row}, of what a loader delivers as valid rows in one epoch."""
    fields = {"npy": ps.raw(), "cls": ps.label()}
    loader = ps.Loader(path, seed=3, transforms=fields, **options)
    rows = {}
    for batch in loader:
        values, offsets = numpy.asarray(batch["npy"].values), numpy.asarray(batch["npy"].offsets)
        for row, key in enumerate(batch["__key__"]):
            if numpy.asarray(batch["__valid__"])[row]:
                rows[key] = (
                    values[offsets[row] : offsets[row + 1]].tobytes() + numpy.asarray(batch["cls"])[row].tobytes()
                )
    return rows


def make_kinds(folder):
    """[(path, whether every value is covered by checksums)]."""
    write_source(folder / "folder")
    kinds = [(folder / "folder", False)]
    for packing in ("tar", "lmdb", "hdf5", "zip", "tfrecord", "mds"):
        ps.pack(folder / "folder", folder / packing, format=packing, shard_size=128 << 10, workers=1)
        kinds.append((folder / packing, True))
    return kinds


def damage(folder, draws):
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.stat().st_size > 0)
    file = draws.choice(files)
    content = bytearray(file.read_bytes())
    at = draws.randrange(len(content))
    how = draws.randrange(4)
    if how == 0:
        del content[at:]
    elif how == 1:
        content[at : at + 8] = draws.choice([0, 1, 2**31, 2**40, 2**63, 2**64 - 1]).to_bytes(8, "little")
    else:
        for _ in range(draws.randrange(1, 4)):
            content[draws.randrange(len(content))] ^= 1 << draws.randrange(8)
    if draws.random() < 0.5:
        file.write_bytes(content)
    else:
        beside = file.with_name(file.name + ".campaign")
        beside.write_bytes(content)
        beside.rename(file)
    return f"{file.relative_to(folder)}: {how} at {at}"


def act(path, covered, whole, expected, draws):
    options = dict(
        batch_size=draws.randrange(1, 7),
        shuffle=draws.random() < 0.5,
        workers=draws.randrange(1, 4),
        read_options=ps.ReadOptions(engine=draws.choice(["auto", "inline", "pread"])),
        on_error=draws.choice(["raise", "replace", "mark"]),
        max_errors=1.0,
        timeout=20,
    )
    if covered:
        options["checksums"] = "always"
    action = draws.choice(["load", "load", "load", "pack", "values", "state"])
    if action == "values":
        dataset = ps.open(path)
        for i in range(len(dataset)):
            dataset[i]["npy"], dataset[i]["cls"]
        return RIGHT
    if action == "pack":
        made = path.with_name("made")
        ps.pack(path, made, format=draws.choice(["tar", "zip"]), workers=1)
        rows, covered = rows_of(made), covered or whole
    elif action == "state":
        loader = ps.Loader(path, **options, transforms={"cls": ps.label()})
        next(iter(loader))
        loader.load_state_dict(loader.state_dict())
        for _ in loader:
            pass
        return RIGHT
    else:
        rows = rows_of(path, **options)
    if (covered or whole) and any(expected.get(key) != row for key, row in rows.items()):
        return WRONG
    if whole and action != "pack" and options["on_error"] != "replace" and len(rows) != SAMPLES:
        return WRONG
    return RIGHT


def trial(seed, number, kinds, expected, scratch):
    draws = random.Random(f"{seed} {number}")
    path, covered = draws.choice(kinds)
    shutil.rmtree(scratch, ignore_errors=True)
    copy = scratch / path.name
    shutil.copytree(path, copy)
    whole = draws.random() < 0.15
    told = path.name + ("" if whole else ": " + damage(copy, draws))
    try:
        return act(copy, covered, whole, expected, draws), told
    except ps.Error as error:
        if whole or "\n" in str(error):
            return WRONG, f"{told}: {error}"
        return REFUSED, told
    except BaseException:
        return WRONG, f"{told}: {traceback.format_exc()}"


def in_child(seed, number, kinds, expected, scratch, told):
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE)
        outcome, text = trial(seed, number, kinds, expected, scratch)
        told.write_text(text)
        os._exit(outcome)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--replay", type=int)
    options = parser.parse_args()
    first, count = (0, options.count) if options.replay is None else (options.replay, 1)

    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="penstock-campaign-", dir=memory) as name:
        folder = pathlib.Path(name)
        os.environ["HOME"] = name
        kinds = make_kinds(folder / "kinds")
        expected = rows_of(kinds[0][0])
        began, outcomes, findings = time.monotonic(), {}, []
        number = first
        while number < first + count and time.monotonic() - began < options.seconds:
            outcome = in_child(options.seed, number, kinds, expected, folder / "trial", folder / "told")
            word = {RIGHT: "right", REFUSED: "refused", WRONG: "WRONG"}.get(outcome, f"ABORTED ({outcome})")
            outcomes[word] = outcomes.get(word, 0) + 1
            if word not in ("right", "refused"):
                findings.append(f"trial {number} {word}: {(folder / 'told').read_text()}")
            number += 1
    print(
        f"Python: seed {options.seed}, {number - first} trials:",
        *(f"{n} {word}" for word, n in sorted(outcomes.items())),
    )
    for finding in findings:
        print("  " + finding.replace("\n", "\n    "))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
