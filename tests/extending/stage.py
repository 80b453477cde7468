"""Usage: stage.py FOLDER [COMMAND]

Python's figures, and those of the command's report where there is a COMMAND, name the stage of docs/extending.md."""

import json
import pathlib
import subprocess
import sys

import penstock

folder = pathlib.Path(sys.argv[1])
with penstock.Loader(folder / "texts", batch_size=2, workers=1) as loader:
    assert sum(1 for _ in loader) == 12
    stats = loader.stats()
assert stats["stages"]["pace"]["busy_s"] > 0, stats["stages"]
assert stats["data_wait_by_stage_s"]["pace"] > 0, stats["data_wait_by_stage_s"]
assert "\npace " in str(stats)

for command in sys.argv[2:]:
    subprocess.run([command, "synth", "icons", folder / "icons", "-n", "80"], check=True, capture_output=True)
    bench = [command, "bench", folder / "icons", "--batch-size", "8", "--digest", "--json", "-"]
    row = json.loads(subprocess.run(bench, check=True, capture_output=True).stdout)["rows"][0]
    assert row["stages"]["pace"]["busy_s"] > 0 and "pace" in row["data_wait_by_stage_s"], row
