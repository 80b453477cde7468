"""Usage: training.py NAME FOLDER STEP_MS. Shares batches under NAME and prints a line for each, until it is killed.

A line: epoch, number of the batch, CRC-32 of its values and keys, and 1 if this process builds batches for others.
"""

import sys
import time
import zlib

import penstock as ps


def main():
    name, folder, step_ms = sys.argv[1], sys.argv[2], float(sys.argv[3])
    loader = ps.share(
        name,
        folder,
        patience=2,
        lag=4,
        batch_size=8,
        shuffle=True,
        seed=7,
        publish=False,
        transforms={"npy": ps.array.decode(), "txt": ps.raw()},
    )
    position = loader.state_dict()
    epoch, number = position["epoch"], position["batch"]
    while True:
        for batch in loader:
            time.sleep(step_ms / 1000)
            builds = loader.stats()["sharing"]["built_for_all"] > 0
            print(epoch, number, value_of(batch), int(builds), flush=True)
            number += 1
        epoch, number = epoch + 1, 0


def value_of(batch):
    value = zlib.crc32(batch["npy"].numpy().tobytes())
    value = zlib.crc32(batch["txt"].values.numpy().tobytes(), value)
    return zlib.crc32(",".join(batch["__key__"]).encode(), value)


if __name__ == "__main__":
    main()
