#!/usr/bin/env python3
"""Usage: tests/overview/beside_peers.py [TRACE...]

Prints the figures of `penstock overview` beside those of torch-tb-profiler 0.4.3 (PyTorch's plug-in for TensorBoard)
and HolisticTraceAnalysis 0.5.0, for the traces in PENSTOCK_TEST_DATA or those given. Fails if a figure differs by more
than 1 % and is not in LISTED. Then checks each reason in LISTED on a hand-made trace whose answer is known.

tests/peers.sh runs this program. By hand, it uses the environments of tests/peers.sh in build/peers (PENSTOCK_PEERS),
or makes them, and penstock in build/dev (PENSTOCK_COMMAND).

The plug-in knows only the categories of PyTorch 1.8. Therefore it also reads a copy of each trace in that spelling: see
in_old_spelling().
"""

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
SHARES = {
    "busy": "GPU utilization",
    "sm_efficiency": "SM efficiency",
    "occupancy": "occupancy",
    "tensor_cores": "tensor cores",
}
WIDTHS = (24, 40, 16, 16, 16)
TOLERANCE = 0.01
LEAST = 0.005  # us; the plug-in adds doubles

# Reasons for which the plug-in differs from its own definitions. prove() shows each with a hand-made trace.
CALLS = (
    "ignores cuda_runtime, cuda_driver and hip_runtime: Runtime is 0 and CPU Exec contains it, operators have no "
    "device work, and steps end with the host, not with their device work"
)
LOADER = "drops user_annotation, as which later versions of PyTorch record DataLoader.__next__"
TWICE = "takes a ProfilerStep of the device's timeline (gpu_user_annotation) for a step"
NCCL = "takes kernels of NCCL for Kernel, unless they have the external id of nccl:NAME, as in old versions"
FIVE = "knows five names of collectives, so nccl:_all_gather_base and others count as operators"
COVERED = "gives later categories their whole time once kernels and others cover all steps, so the sum exceeds the step"
DOUBLES = "keeps microseconds since 1970 in doubles, which have a resolution of 0.25 us"
IDS = "finds the operator of a call by the external id, which is the call's own correlation in some versions of PyTorch"
ANNOTATION = "subtracts the annotation nccl:NAME from the operator around it, as if it were an operator"
AMD = "looks for the names of NVIDIA's kernels among AMD's, so the share of tensor cores is 0 instead of missing"

AS_IT_IS, OLD_SPELLING, HTA = "plug-in, the trace as it is", "plug-in, the trace in the spelling of PyTorch 1.8", "HTA"
# Variant, traces, figures, reason. Each figure that differs must be here, and each entry must have one.
LISTED = [
    (AS_IT_IS, "amd|critical|nccl|ns|trace|triton", "step: (Runtime|CPU Exec)", CALLS),
    (AS_IT_IS, "amd|critical|nccl|ns|trace|triton", "operator .*: (host_self|device_self)", CALLS),
    (AS_IT_IS, "critical", "step: (Kernel|Memset|Other)|GPU 0: (GPU utilization|SM efficiency|occupancy)", CALLS),
    (AS_IT_IS, "ns_resolution", "step: (Kernel|Memcpy|Memset)", CALLS),
    (AS_IT_IS, "trace_diff", "step: Other", CALLS),
    (AS_IT_IS, "amd", "step: (Kernel|Memcpy|Other)", TWICE),
    (AS_IT_IS, "nccl|trace_diff|trace_filter", "step: (Kernel|Memcpy|Memset|Communication)", NCCL),
    (AS_IT_IS, "rank_non_gpu", "step: (Communication|CPU Exec)", FIVE),
    (AS_IT_IS, "rank_non_gpu|trace_diff", "step: DataLoader", LOADER),
    (AS_IT_IS, "amd", "GPU 2: tensor cores", AMD),
    (OLD_SPELLING, "amd", "GPU 2: tensor cores", AMD),
    (OLD_SPELLING, "rank_non_gpu", "operator record_param_comms: host_self", ANNOTATION),
]


def read(path):
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file, parse_float=Decimal)


def write(trace, path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace, file, default=float)


def since_its_begin(trace):
    """Moves the times of a trace to begin at 0, so that doubles hold them."""
    begin = int(min(event["ts"] for event in trace["traceEvents"] if "ts" in event))
    for event in trace["traceEvents"]:
        if "ts" in event:
            event["ts"] -= begin
    return trace


def link_to_operators(events):
    """Gives calls of the runtime, and their device work, the external id of the operator around the call. Some
    versions of PyTorch give them their own correlation."""
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
    """Changes a trace to the spelling of PyTorch 1.8. The categories have their old names, and the device's timeline
    has no annotations. Collectives have a name that the plug-in knows. Kernels of NCCL have the external id of one."""
    trace = since_its_begin(trace)
    known = {
        f"{library}:{name}"
        for library in ("nccl", "gloo")
        for name in ("broadcast", "reduce", "all_reduce", "all_gather", "reduce_scatter")
    }
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
        shown = subprocess.run(
            [COMMAND, "overview", "--no-html", "--json", "-", path], capture_output=True, check=True
        ).stdout
        (rank,) = json.loads(shown)["ranks"]
        out.append(flat([step["categories"] for step in rank["steps"]], 1e6))
        for device in rank["devices"]:
            out[-1] |= {f"GPU {device['device']}: {name}": device[share] for share, name in SHARES.items()}
        for stream in rank["streams"]:
            place = f"stream {stream['stream']}"
            out[-1] |= {
                f"{place}: waits for {part}": 1e6 * stream["idle"][part] for part in ("host", "kernel", "other")
            }
            out[-1] |= {f"{place}: queue, {part}": stream["queue"][part] for part in ("mean", "max")}
        for row in rank["operators"]:
            out[-1] |= {
                f"operator {row['name']}: {part}": 1e6 * row[part] for part in ("host", "host_self", "device_self")
            }
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
        subprocess.run(
            [ROOT / "scripts/extra_environment.sh", ROOT / f"tests/python/peers/{folder.name}.txt", folder], check=True
        )
    found = subprocess.run(
        [folder / "bin/python", "-W", "ignore", __file__, peer, *paths], capture_output=True, check=False
    )
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


def listed(variant, trace, figure):
    """The entries of LISTED for a figure."""
    return [
        entry
        for entry in LISTED
        if entry[0] == variant and re.match(entry[1], trace) and re.fullmatch(entry[2], figure)
    ]


def shown(value):
    return "none" if value is None else f"{value:,.1f}" if abs(value) >= 10 else f"{value:.4g}"


def row(*cells):
    print(
        "  ".join(
            f"{cell:{'<' if i < 2 else '>'}{width}}" for i, (cell, width) in enumerate(zip(cells, WIDTHS))
        ).rstrip()
    )


def compare(variant, names, ours, theirs):
    """Prints a table of the mean step, the GPUs, the streams, and other figures that differ. Returns what is wrong."""
    print(f"\n== {variant}")
    row("trace", "figure", "penstock", "peer", "")
    wrong, used, agree, differ = [], [], 0, 0
    for name, mine, other in zip(names, ours, theirs):
        for figure, value in other.items():
            if variant == AS_IT_IS and re.match(r"step \d", figure):
                continue  # the plug-in may have other steps; their mean is in the table
            apart = difference(mine.get(figure), value)
            why = listed(variant, name, figure) if apart > TOLERANCE else []
            used += why
            agree, differ = agree + (apart <= TOLERANCE), differ + (apart > TOLERANCE)
            if apart > TOLERANCE and not why:
                wrong.append(f"{variant}: {name}: {figure}: {shown(mine.get(figure))}, {shown(value)}")
            if apart > TOLERANCE or figure.startswith(("step:", "GPU", "stream")):
                mark = "" if apart <= TOLERANCE else " listed" if why else " WRONG"
                row(name[:24], figure, shown(mine.get(figure)), shown(value), f"{100 * apart:.2f} %{mark}")
    print(f"{agree} figures agree within {TOLERANCE:.0%}, {differ} do not, of which {len(wrong)} are not listed")
    for _, traces, figures, reason in (entry for entry in LISTED if entry[0] == variant):
        print(f"  {traces}: {figures}: {reason}")
    unused = [entry for entry in LISTED if entry[0] == variant and entry not in used]
    return wrong + [f"listed, but nothing differs: {entry[:3]}" for entry in unused]


def event(category, name, begin, end, **args):
    """Times are microseconds."""
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 1, "ts": begin, "dur": end - begin, "args": args}


def kernel(name, begin, end, **args):
    return event("kernel", name, begin, end, device=0, stream=7, **args)


def proofs():
    """(reason, events of a step from 0 to 100, figure, known answer, plug-in's answer, other members of the trace)."""
    call = [
        event("cpu_op", "aten::add", 0, 20, **{"External id": 1}),
        event("cuda_runtime", "cudaLaunchKernel", 10, 15, correlation=9, **{"External id": 1}),
        kernel("add", 50, 150, correlation=9, **{"External id": 1}),
    ]
    early = 1_712_196_727_000_000
    return [
        (CALLS, call, "step: Runtime", 5, 0, {}),
        (CALLS, call, "step: CPU Exec", 15, 20, {}),
        (CALLS, call, "step: Kernel", 100, 50, {}),  # the kernel lasts longer than the step of the host
        (CALLS, call, "operator aten::add: host_self", 15, 20, {}),
        (CALLS, call, "operator aten::add: device_self", 100, 0, {}),
        (
            LOADER,
            [event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 20, 60)],
            "step: DataLoader",
            40,
            0,
            {},
        ),
        (TWICE, [event("gpu_user_annotation", "ProfilerStep#1", 50, 60)], "step: Other", 100, 55, {}),
        (NCCL, [kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 10, 40)], "step: Communication", 30, 0, {}),
        (NCCL, [kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 10, 40)], "step: Kernel", 0, 30, {}),
        (FIVE, [event("cpu_op", "nccl:_all_gather_base", 10, 30)], "step: Communication", 20, 0, {}),
        (COVERED, [kernel("gemm", 0, 100), event("cpu_op", "aten::mm", 10, 60)], "step: CPU Exec", 0, 50, {}),
        (
            DOUBLES,
            [
                event("user_annotation", "ProfilerStep#2", early, early + 100),
                {**kernel("gemm", 0, 0), "ts": Decimal(early) + Decimal("10.1"), "dur": Decimal("0.1")},
            ],
            "step 2: Kernel",
            0.1,
            0,
            {},
        ),
        (
            IDS,
            [
                event("cpu_op", "aten::add", 0, 20, **{"External id": 1}),
                event("Runtime", "cudaLaunchKernel", 10, 15, correlation=9, **{"External id": 9}),
            ],
            "operator aten::add: host_self",
            15,
            20,
            {},
        ),
        (
            ANNOTATION,
            [
                event("cpu_op", "record_param_comms", 0, 50, **{"External id": 1}),
                event("user_annotation", "nccl:all_reduce", 10, 40, **{"External id": 2}),
            ],
            "operator record_param_comms: host_self",
            50,
            20,
            {},
        ),
        (
            AMD,
            [kernel("Cijk_Ailk_Bljk_BBS_BH", 10, 40)],
            "GPU 0: tensor cores",
            None,
            0,
            {"deviceProperties": [{"id": 0, "name": "AMD Instinct MI250X", "totalGlobalMem": 1, "computeMajor": 9}]},
        ),
    ]


def prove(folder):
    """Shows each reason on a trace with a known answer, which must be ours. Returns what is wrong."""
    cases, paths = proofs(), []
    for number, (_, events, _, _, _, head) in enumerate(cases):
        paths.append(os.path.join(folder, f"proof-{number}.json"))
        write({**head, "traceEvents": [event("user_annotation", "ProfilerStep#1", 0, 100), *events]}, paths[-1])
    print("\n== hand-made traces of one step of 100 us")
    row("", "figure", "known = penstock", "plug-in", "")
    wrong = []
    for case, ours, theirs in zip(cases, figures_of_penstock(paths), ask("plugin", paths)):
        reason, _, figure, known, other, _ = case
        row("", figure, shown(ours.get(figure)), shown(theirs.get(figure)), "")
        print(f"    The plug-in {reason}.")
        if difference(ours.get(figure), known) > 1e-6 or difference(theirs.get(figure), other) > 1e-6:
            wrong.append(
                f"hand-made trace: {figure}: {ours.get(figure)}, {theirs.get(figure)}; expected {known}, {other}"
            )
    unproved = {reason for *_, reason in LISTED} - {reason for reason, *_ in cases}
    return wrong + [f"no hand-made trace: {reason}" for reason in sorted(unproved)]


def main(paths):
    paths = [str(path) for path in paths] or sorted(str(path) for path in DATA.rglob("*.json*"))
    if not paths:
        print("skipped: no traces in PENSTOCK_TEST_DATA")
        return 0
    names = [pathlib.Path(path).name.split(".")[0] for path in paths]
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        old, early = (
            [os.path.join(folder, f"{kind}-{i}.json") for i in range(len(paths))] for kind in ("old", "early")
        )
        for i, path in enumerate(paths):
            write(in_old_spelling(read(path)), old[i])
            write(since_its_begin(read(path)), early[i])
        ours = figures_of_penstock(paths)
        wrong = compare(AS_IT_IS, names, ours, ask("plugin", paths))
        wrong += compare(OLD_SPELLING, names, ours, ask("plugin", old))
        wrong += compare(HTA, names, ours, ask("hta", early))
        wrong += prove(folder)
    print()
    for fault in wrong:
        print("WRONG:", fault)
    print("beside_peers.py:", "FAILED" if wrong else "passed")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:2] in (["plugin"], ["hta"]):
        print(json.dumps({"plugin": figures_of_plugin, "hta": figures_of_hta}[sys.argv[1]](sys.argv[2:])))
    else:
        sys.exit(main(sys.argv[1:]))
