#!/usr/bin/env python3
"""Usage: campaign.py [--count N] [--causes NAME,...] [--beside TRACEML]

Plants seven causes around PyTorch's own DataLoader in scenarios.py, runs each N times (20) with `penstock run`, and
counts how often the diagnosis names the planted cause. Exit code 1 if one run does not.

--beside: the program `traceml` of traceml-ai, which also diagnoses each scenario once. It measures nothing in a plain loop
that is not edited. Therefore it also gets a copy with its own two calls.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
# The scenarios of a cause, in turns, and the words of the diagnosis.
CAUSES = {
    "slow decoding": (("decoding_0", "decoding_2"), "decoding"),
    "too few workers": (("workers",), "workers"),
    "slow disk": (("storage_0", "storage_2"), "storage"),
    "tiny batches": (("batches",), "batches"),
    "uneven ranks": (("ranks",), "ranks"),
    "garbage collection": (("collecting",), "garbage collection"),
    "slow collate": (("collate_0", "collate_2"), "collate"),
}
_RANKS = 2
_REPEATS = 5  # of a run on a machine that was too busy for the planted cause


def launched(scenario: str) -> list[str]:
    """The words before the script, for a scenario with several ranks."""
    if scenario != "ranks":
        return [sys.executable]
    return [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(_RANKS)]


def diagnosed(scenario: str, folder: pathlib.Path) -> dict[str, Any]:
    words = [*launched(scenario), "-m", "penstock", "run", "--quiet", "--json", str(folder / "run.json")]
    subprocess.run(
        [*words, str(HERE / "scenarios.py"), scenario], check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    name = "run.rank0.json" if scenario == "ranks" else "run.json"
    return json.loads((folder / name).read_text())


def lacks_idle_cores(scenario: str, figures: dict[str, Any]) -> bool:
    """More workers help only if cores are idle. Other programs may have used them."""
    return scenario == "workers" and (figures["idle_cores"] or 0.0) < 0.5


def trial(scenario: str, folder: pathlib.Path) -> tuple[dict[str, Any], int]:
    """The figures of a run, and the number of runs before it on a machine without idle cores."""
    for repeat in range(_REPEATS):
        figures = diagnosed(scenario, folder)
        if not lacks_idle_cores(scenario, figures):
            break
    return figures, repeat


def right_of(cause: str, count: int, folder: pathlib.Path) -> int:
    scenarios, expected = CAUSES[cause]
    right, repeats, untested, wrong = 0, 0, 0, []
    for number in range(count):
        scenario = scenarios[number % len(scenarios)]
        figures, repeated = trial(scenario, folder)
        repeats += repeated
        if figures["diagnosis"]["cause"] == expected:
            right += 1
        elif lacks_idle_cores(scenario, figures):
            untested += 1
        else:
            wrong.append(figures["diagnosis"]["why"])
    busy = f" ({untested} not tested and {repeats} repeated: no idle core)" if repeats else ""
    print(f"{cause:<20} {right} of {count}{busy}; load of the machine {os.getloadavg()[0]:.1f}", flush=True)
    for why in wrong:
        print(f"    {why}")
    return right


# ---- TraceML ---------------------------------------------------------------------------------------------------------


def with_calls(script: str) -> str:
    """The script with the calls that TraceML's guide requires."""
    call = "            learn(model, optimizer, values, labels, step)\n"
    assert call in script
    script = script.replace(call, f"            with traceml.trace_step(model):\n    {call}")
    return script.replace(
        "import torch\n", 'import torch\nimport traceml_ai as traceml\n\ntraceml.init(mode="auto")\n', 1
    )


def verdict_of_traceml(program: str, script: pathlib.Path, scenario: str, folder: pathlib.Path) -> str:
    logs = folder / "logs"
    words = [program, "run", "--logs-dir", str(logs), "--run-name", script.stem + scenario]
    ranks = ["--nproc-per-node", str(_RANKS)] if scenario == "ranks" else []
    done = subprocess.run(
        [*words, *ranks, str(script), "--args", scenario], cwd=folder, capture_output=True, text=True, check=False
    )
    try:
        found = json.loads((logs / (script.stem + scenario) / "final_summary.json").read_text())["primary_diagnosis"]
        return f"{found['status']}: {found['summary']}"
    except (OSError, ValueError, KeyError):
        return f"no result (exit code {done.returncode})"


def beside(program: str, cause: str, folder: pathlib.Path) -> None:
    scenario = CAUSES[cause][0][0]
    script = (HERE / "scenarios.py").read_text()
    print(f"\n{cause} ({scenario})\n    penstock run:             {diagnosed(scenario, folder)['diagnosis']['why']}")
    for name, text in (("unedited", script), ("with its calls", with_calls(script))):
        path = folder / f"{name.replace(' ', '_')}.py"
        path.write_text(text)
        print(f"    traceml, {name + ':':<16} {verdict_of_traceml(program, path, scenario, folder)}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs trainings with planted causes")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--causes", type=lambda text: text.split(","), default=list(CAUSES))
    parser.add_argument("--beside", metavar="TRACEML")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        right = [right_of(cause, options.count, folder) == options.count for cause in options.causes]
        if options.beside:
            for cause in options.causes:
                beside(options.beside, cause, folder)
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
