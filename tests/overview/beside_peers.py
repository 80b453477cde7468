#!/usr/bin/env python3
"""Usage: tests/overview/beside_peers.py [TRACE...]

Prints the figures of `penstock overview` beside those of torch-tb-profiler 0.4.3 (PyTorch's plug-in for TensorBoard) and
HolisticTraceAnalysis 0.5.0, for the traces in PENSTOCK_TEST_DATA or those given. Fails if a figure differs by more than 1 %
and is not in LISTED. Then checks each reason in LISTED on a hand-made trace whose answer is known.

tests/peers.sh runs this program. By hand, it needs the two environments of tests/peers.sh in build/peers (or PENSTOCK_PEERS), or
makes them, and penstock in build/dev (or PENSTOCK_COMMAND).

The plug-in knows only the names of categories of PyTorch 1.8, so it also reads a copy of each trace in that spelling: see
in_old_spelling().
"""

import copy
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from decimal import Decimal

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = pathlib.Path(os.environ.get("PENSTOCK_PEERS", ROOT / "build/peers"))
COMMAND = os.environ.get("PENSTOCK_COMMAND", str(ROOT / "build/dev/bindings/cli/penstock"))
DATA = pathlib.Path(os.environ.get("PENSTOCK_TEST_DATA", ROOT / "../shared/data")) / "traces"

CATEGORIES = ["Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader", "CPU Exec", "Other"]
DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}
OPERATORS = {"cpu_op", "Operator"}
SHARES = {"busy": "GPU utilization", "sm_efficiency": "SM efficiency", "occupancy": "occupancy", "tensor_cores": "tensor cores"}
WIDTHS = (24, 45, 18, 18, 20)
TOLERANCE = 0.01
LEAST = 0.005  # us; the plug-in adds doubles

# Why the plug-in differs from the definition of its own categories.
CALLS = (
    "ignores cuda_runtime, cuda_driver and hip_runtime: Runtime is 0, CPU Exec contains it, and steps end with the host, "
    "not with their device work"
)
LOADER = "drops user_annotation, as which PyTorch records DataLoader.__next__ since 2.0: its time becomes Other or CPU Exec"
TWICE = "takes the ProfilerStep of the device's timeline (gpu_user_annotation) for a further step"
NCCL = "counts kernels of NCCL as Kernel, unless they have the external id of nccl:NAME, which PyTorch no longer gives them"
FIVE = "knows only five collectives, so nccl:_all_gather_base and others are operators, or nothing if they are annotations"
DOUBLES = "keeps microseconds since 1970 in doubles, which have a resolution of 0.25 us"
TENSOR = "finds no kernels of operators without cuda_runtime, so the GPU's share of tensor cores is missing or of fewer kernels"
AMD = "looks for NVIDIA's names among AMD's kernels and shows 0 instead of nothing"

# Variant, trace, figures, reasons. A figure that differs and is not here fails.
LISTED = []


def read(path):
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file, parse_float=Decimal)


def number(value):
    return value if isinstance(value, int) else float(value)


def dump(trace, path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace, file, default=float)


def since_its_begin(trace):
    """A copy whose times begin at 0, so that a double holds them. For numbers, times are as in the trace."""
    trace = copy.deepcopy(trace)
    begin = int(min(event["ts"] for event in trace["traceEvents"] if "ts" in event))
    for event in trace["traceEvents"]:
        if "ts" in event:
            event["ts"] -= begin
    return trace


def link_to_operators(events):
    """Gives calls of the runtime, and their device work, the external id of the operator around the call. From about 1.13 to
    2.0, PyTorch gave them their own correlation."""
    threads, ids = {}, {}
    for event in events:
        if event.get("ph") == "X" and (event["cat"] in OPERATORS or event["cat"].endswith(("_runtime", "_driver"))):
            threads.setdefault((event["pid"], event["tid"]), []).append(event)
    for thread in threads.values():
        around = []
        for event in sorted(thread, key=lambda event: (event["ts"], -event["dur"])):
            while around and around[-1]["ts"] + around[-1]["dur"] < event["ts"] + event["dur"]:
                around.pop()
            if event["cat"] in OPERATORS:
                around.append(event)
            else:
                event["args"]["External id"] = around[-1]["args"].get("External id", 0) if around else 0
                ids[event["args"].get("correlation")] = event["args"]["External id"]
    for event in events:
        if event.get("cat") in DEVICE and event["args"].get("correlation") in ids:
            event["args"]["External id"] = ids[event["args"]["correlation"]]


def in_old_spelling(trace):
    """A copy as PyTorch 1.8 would have written it: the names of categories, no annotations on the device's timeline,
    collectives under a name that the plug-in knows, and kernels of NCCL with the external id of a collective."""
    trace = since_its_begin(trace)
    known = {f"{library}:{name}" for library in ("nccl", "gloo") for name in ("broadcast", "reduce", "all_reduce", "all_gather", "reduce_scatter")}
    events = [event for event in trace["traceEvents"] if event.get("cat") != "gpu_user_annotation"]
    collectives = [event for event in events if event.get("name", "").startswith(("nccl:", "gloo:"))]
    ids = [event["args"]["External id"] for event in collectives if event.get("args", {}).get("External id")]
    link_to_operators(events)
    for event in events:
        category, name = event.get("cat", ""), event.get("name", "")
        if category.endswith(("_runtime", "_driver")):
            event["cat"] = "Runtime"
        elif category == "user_annotation" and name.startswith("enumerate(DataLoader)#"):
            event["cat"] = "cpu_op"
        elif category == "kernel" and name.startswith("nccl") and ids:
            event["args"]["External id"] = ids[0]
    for event in collectives:
        if event["name"] not in known:
            event["name"] = event["name"].split(":")[0] + ":all_reduce"
    trace["traceEvents"] = events
    return trace


# Figures are {name: value}, times in microseconds, and shares between 0 and 1.


def figures_of_penstock(paths):
    out = []
    for path in paths:
        shown = subprocess.run([COMMAND, "overview", "--no-html", "--json", "-", path], capture_output=True, check=True).stdout
        (rank,) = json.loads(shown)["ranks"]
        out.append(flat([step["categories"] for step in rank["steps"]], 1e6))
        for device in rank["devices"]:
            out[-1] |= {f"GPU {device['device']}: {name}": device[share] for share, name in SHARES.items()}
        for stream in rank["streams"]:
            place = f"stream {stream['stream']}"
            out[-1] |= {f"{place}: waits for {part}": 1e6 * stream["idle"][part] for part in ("host", "kernel", "other")}
            out[-1] |= {f"{place}: queue, {part}": stream["queue"][part] for part in ("mean", "max")}
        for row in rank["operators"]:
            out[-1] |= {f"operator {row['name']}: {part}": 1e6 * row[part] for part in ("host", "host_self", "device_self")}
            out[-1][f"operator {row['name']}: calls"] = row["calls"]
        out[-1] |= {f"kernel {row['name']}": 1e6 * row["time"] for row in rank["kernels"]}
    return out


def flat(steps, unit):
    """The mean step, and each step."""
    out = {f"step: {name}": unit * sum(step[name] for step in steps) / len(steps) for name in CATEGORIES}
    for number, step in enumerate(steps, 1):
        out |= {f"step {number}: {name}": unit * step[name] for name in CATEGORIES}
    return out


def figures_of_plugin(paths):
    """Runs in the environment of the plug-in."""
    import logging

    from torch_tb_profiler import consts
    from torch_tb_profiler.profiler.data import RunProfileData

    sys.setrecursionlimit(20_000)  # it walks trees of operators by recursion
    logging.getLogger(consts.PLUGIN_NAME).setLevel(logging.CRITICAL)
    out = []
    for path in paths:
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
            found = RunProfileData.from_json("worker", None, json.load(file))
        out.append(flat([dict(zip(CATEGORIES, step.costs)) for step in found.steps_costs], 1))
        metrics = found.gpu_metrics_parser
        for gpu in sorted(metrics.gpu_ids):
            occupancy = metrics.avg_occupancy_per_device[gpu]
            out[-1] |= {
                f"GPU {gpu}: GPU utilization": metrics.gpu_utilization[gpu],
                f"GPU {gpu}: SM efficiency": metrics.avg_approximated_sm_efficiency_per_device[gpu],
                f"GPU {gpu}: occupancy": None if occupancy is None else occupancy / 100,
                f"GPU {gpu}: tensor cores": found.tc_used_ratio,  # all kernels; there is one GPU
            }
        for op in sorted(found.op_list_groupby_name, key=lambda op: -op.self_host_duration)[:10]:
            out[-1] |= {
                f"operator {op.name}: calls": op.calls,
                f"operator {op.name}: host": op.host_duration,
                f"operator {op.name}: host_self": op.self_host_duration,
                f"operator {op.name}: device_self": op.self_device_duration,
            }
        if found.kernel_stat is not None:
            out[-1] |= {f"kernel {name}": float(row["sum"]) for name, row in list(found.kernel_stat.iterrows())[:10]}
    return out


def figures_of_hta(paths):
    """Runs in the environment of HTA."""
    import logging

    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # it rounds to microseconds otherwise (hta/configs/env_options.py)
    from hta.common.trace import Trace
    from hta.trace_analysis import TraceAnalysis

    logging.disable(logging.CRITICAL)
    out = []
    for path in paths:
        analysis = TraceAnalysis.__new__(TraceAnalysis)
        analysis.t = Trace({0: path}, os.path.dirname(path))
        analysis.t.load_traces(use_multiprocessing=False, use_memory_profiling=False)
        out.append({})
        try:
            idle, _ = analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
        except ValueError:  # no device work
            continue
        for row in idle.to_dict("records"):
            place = f"stream {row['stream']}: waits for"
            out[-1] |= {f"{place} {part}": out[-1].get(f"{place} {part}", 0.0) for part in ("host", "kernel", "other")}
            out[-1][f"{place} {row['idle_category'].removesuffix('_wait')}"] = row["idle_time"]
        for table in analysis.get_queue_length_time_series([0]).values():
            for stream, points in table.groupby("stream"):
                out[-1][f"stream {stream}: queue, mean"] = float(points.queue_length.mean())
                out[-1][f"stream {stream}: queue, max"] = float(points.queue_length.max())
    return out


def ask(peer, paths):
    """Figures of a library, in its environment."""
    folder = PEERS / {"plugin": "torch_tb_profiler", "hta": "hta"}[peer]
    if not folder.exists():
        subprocess.run([ROOT / "scripts/extra_environment.sh", ROOT / f"tests/python/peers/{folder.name}.txt", folder], check=True)
    found = subprocess.run([folder / "bin/python", "-W", "ignore", __file__, peer, *paths], capture_output=True, check=False)
    if found.returncode != 0:
        sys.exit(f"{peer} failed:\n{found.stderr.decode()}")
    return json.loads(found.stdout.splitlines()[-1])


def difference(ours, theirs):
    """Relative to the larger one."""
    if ours is None or theirs is None:
        return 0.0 if ours == theirs else 1.0
    if abs(ours - theirs) <= LEAST * (max(abs(ours), abs(theirs)) > 1):
        return 0.0
    return abs(ours - theirs) / max(abs(ours), abs(theirs)) if ours != theirs else 0.0


def reasons(variant, trace, figure):
    return [reason for of, name, figures, reason in LISTED if of == variant and trace.startswith(name) and re.fullmatch(figures, figure)]


def shown(value):
    return "none" if value is None else f"{value:,.1f}" if abs(value) >= 10 else f"{value:.4g}"


def row(*cells):
    print("  ".join(f"{cell[:width]:{'<' if i < 2 else '>'}{width}}" for i, (cell, width) in enumerate(zip(cells, WIDTHS))))


def compare(variant, names, ours, theirs):
    """Prints a table of the mean step, the GPUs, the streams, and what else differs. Returns the unexpected differences."""
    print(f"\n== {variant}")
    row("trace", "figure", "penstock", "peer", "")
    failed, counts = [], [0, 0]
    for name, mine, other in zip(names, ours, theirs):
        for figure, value in other.items():
            apart = difference(mine.get(figure), value)
            why = reasons(variant, name, figure)
            unexpected = apart > TOLERANCE and not why
            counts[apart > TOLERANCE] += 1
            if unexpected:
                failed.append((variant, name, figure))
            if unexpected or figure.startswith(("step:", "GPU", "stream")):
                mark = "  !!!" if unexpected else "  listed" if apart > TOLERANCE else ""
                row(name, figure, shown(mine.get(figure)), shown(value), f"{100 * apart:.2f} %{mark}")
    print(f"{counts[0]} figures agree within {TOLERANCE:.0%}, {counts[1]} do not, of which {counts[1] - len(failed)} are listed")
    return failed


def main(paths):
    paths = [str(path) for path in paths] or sorted(str(path) for path in DATA.rglob("*.json*"))
    if not paths:
        print("skipped: no traces in PENSTOCK_TEST_DATA")
        return 0
    names = [pathlib.Path(path).name.split(".")[0] for path in paths]
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        old, early = ([os.path.join(folder, f"{kind}-{i}.json") for i in range(len(paths))] for kind in ("old", "early"))
        for i, path in enumerate(paths):
            trace = read(path)
            dump(in_old_spelling(trace), old[i])
            dump(since_its_begin(trace), early[i])
        ours = figures_of_penstock(paths)
        failed = compare("plug-in, trace as it is", names, ours, ask("plugin", paths))
        failed += compare("plug-in, old spelling", names, ours, ask("plugin", old))
        failed += compare("HTA", names, ours, ask("hta", early))
    for place in failed:
        print("unexpected difference:", *place, sep="  ")
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:2] in (["plugin"], ["hta"]):
        print(json.dumps({"plugin": figures_of_plugin, "hta": figures_of_hta}[sys.argv[1]](sys.argv[2:])))
    else:
        sys.exit(main(sys.argv[1:]))
