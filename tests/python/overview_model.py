"""A model of the overview of profiler traces in plain Python, written from the comments in overview/*.hpp.

It walks over the elementary intervals between the begins and ends of events. Times are whole nanoseconds.
"""

import bisect
import collections
import gzip
import itertools
import json
from decimal import Decimal

CATEGORIES = ["Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader", "CPU Exec", "Other"]
OPERATORS = {"Operator", "cpu_op"}
DEVICE = {
    "Kernel": "Kernel",
    "kernel": "Kernel",
    "Memcpy": "Memcpy",
    "gpu_memcpy": "Memcpy",
    "Memset": "Memset",
    "gpu_memset": "Memset",
}
ARGUMENTS = {
    "correlation",
    "External id",
    "external id",
    "device",
    "stream",
    "blocks per SM",
    "est. achieved occupancy %",
}
TENSOR_CORES = [
    "h884",
    "s884",
    "h1688",
    "s1688",
    "hmma",
    "i8816",
    "16816",
    "dgrad_1x1_stride_2x2",
    "first_layer_wgrad_kernel",
    "conv1x1",
    "conv2d_c1_k1",
    "direct_group",
    "xmma_implicit_gemm",
    "xmma_sparse_conv",
    "xmma_warp_specialized_implicit_gemm",
    "xmma_gemm",
    "xmma_sparse_gemm",
    "c1688",
]

Event = collections.namedtuple("Event", "begin end name args device stream")
Step = collections.namedtuple("Step", "name begin end")


def read(path):
    """All events of a trace, and its devices' names."""
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        trace = json.load(file, parse_float=Decimal)
    devices = trace.get("deviceProperties", trace.get("computeProperties", []))
    return trace["traceEvents"], {device["id"]: device["name"] for device in devices}


def nanoseconds(value):
    return round(value * 1000)


def external_id(args):
    return args.get("External id", args.get("external id", 0))


def is_loader(name):
    return name.startswith("enumerate(DataLoader)#") and name.endswith(".__next__")


def is_runtime(category):
    return category == "Runtime" or category.endswith(("_runtime", "_driver"))


class Model:
    """The quantities of one trace."""

    def __init__(self, path):
        events, self.names = read(path)
        self.host_steps, self.operators, self.calls, self.loaders, computing = [], [], [], [], []
        self.work = []  # (category, event) of all devices
        collectives = []
        for raw in events:
            if raw.get("ph") != "X" or "dur" not in raw:
                continue
            category, name = raw.get("cat", ""), raw["name"]
            args = {key: value for key, value in raw.get("args", {}).items() if key in ARGUMENTS}
            begin = nanoseconds(raw["ts"])
            event = Event(
                begin, begin + nanoseconds(raw["dur"]), name, args, args.get("device", raw["pid"]), args.get("stream")
            )
            if category in OPERATORS or category == "user_annotation":
                if name.startswith("ProfilerStep#"):
                    self.host_steps.append(Step(name.split("#")[1], event.begin, event.end))
                elif is_loader(name):
                    self.loaders.append(event)
                elif name.startswith(("nccl:", "gloo:")):
                    collectives.append(event)
                    self.operators += [event] if category in OPERATORS else []
                elif category in OPERATORS:
                    computing.append(event)
            elif is_runtime(category):
                self.calls.append(event)
            elif category in DEVICE:
                self.work.append((DEVICE[category], event))
        self.operators += computing
        ids = {external_id(event.args) for event in collectives} - {0}
        self.work = [
            ("Communication" if kind == "Kernel" and self._communicates(event, ids) else kind, event)
            for kind, event in self.work
        ]
        self.kernels = [event for kind, event in self.work if kind in ("Kernel", "Communication")]
        self.events = {category: [] for category in CATEGORIES[:-1]}
        for kind, event in self.work:
            self.events[kind].append(event)
        self.events["Communication"] += collectives
        self.events["Runtime"] = self.calls
        self.events["DataLoader"] = self.loaders
        self.events["CPU Exec"] = computing
        self.steps, self.left_out = self._steps()

    @staticmethod
    def _communicates(event, ids):
        return event.name.startswith(("nccl", "rccl")) or "msccl" in event.name or external_id(event.args) in ids

    def _steps(self):
        steps = sorted(self.host_steps, key=lambda step: step.begin)
        if not steps:
            steps = [
                Step("0", min(event.begin for event in self.operators), max(event.end for event in self.operators))
            ]
        launches = collections.defaultdict(list)
        for call in self.calls:
            launches[call.args.get("correlation")].append(call)
        launched = [[] for _ in steps]
        before = []  # device work that no step launched
        for _, event in self.work:
            calls = launches[event.args["correlation"]] if "correlation" in event.args else []
            inside = {
                i for i, step in enumerate(steps) for call in calls if step.begin <= call.begin < step.end >= call.end
            }
            for i in inside:
                launched[i].append(event)
            if not inside:
                before.append(event.end)
        if not any(launched):
            return steps, 0
        begin = steps[0].begin
        if launched[0]:
            first = min(event.begin for event in launched[0])
            begin = max([begin, *(end for end in before if end < first)])
        out = []
        for step, work in zip(steps, launched):
            begin = max(begin, step.begin)
            end = max(begin, step.end, *(event.end for event in work))
            out.append(Step(step.name, begin, end))
            begin = end
        while not launched[len(out) - 1]:
            out.pop()
        last = len(out) - 1
        if last > 0 and len(launched[last]) < 0.8 * len(launched[last - 1]):
            out.pop()
        return out, len(steps) - len(out)

    def categories(self):
        """{category: nanoseconds} for each step."""
        edges = []
        for number, category in enumerate(CATEGORIES[:-1]):
            for event in self.events[category]:
                edges += [(event.begin, number, 1), (event.end, number, -1)]
        edges += [(time, 0, 0) for step in self.steps for time in step[1:]]
        edges.sort()
        out = [dict.fromkeys(CATEGORIES, 0) for _ in self.steps]
        active = [0] * len(CATEGORIES)
        mask = 1 << len(CATEGORIES) - 1  # a bit for each category with an event now, and for Other
        step = 0
        for (time, number, change), following in itertools.pairwise([*edges, (edges[-1][0], 0, 0)]):
            active[number] += change
            mask = mask | 1 << number if active[number] else mask & ~(1 << number)
            while step < len(self.steps) and self.steps[step].end <= time:
                step += 1
            if step == len(self.steps):
                break
            if time >= self.steps[step].begin:
                first = (mask & -mask).bit_length() - 1
                out[step][CATEGORIES[first]] += following[0] - time
        return out

    def devices(self):
        """{device: shares}."""
        begin, end = self.steps[0].begin, self.steps[-1].end
        out = {}
        for device in sorted({event.device for event in self.kernels}):
            kernels = [event for event in self.kernels if event.device == device]
            edges = []
            for event in kernels:
                blocks = float(event.args.get("blocks per SM", 0))
                edges += [(event.begin, 1, blocks), (event.end, -1, -blocks)]
            edges = sorted(edges) + [(end, 0, 0.0)]
            busy = covered = running = blocks = 0
            for (time, one, change), following in itertools.pairwise(edges):
                running += one
                blocks += change
                length = min(max(following[0], begin), end) - min(max(time, begin), end)
                busy += length if running else 0
                covered += length * min(1.0, max(0.0, blocks))
            weights = [
                (float(event.args["est. achieved occupancy %"]), min(event.end, end) - max(event.begin, begin))
                for event in kernels
                if event.args.get("est. achieved occupancy %", -1) >= 0
            ]
            weights = [(value, weight) for value, weight in weights if weight > 0]
            time = sum(event.end - event.begin for event in kernels)
            tensor = sum(
                event.end - event.begin for event in kernels if any(part in event.name for part in TENSOR_CORES)
            )
            nvidia = "AMD" not in self.names.get(device, "")
            recorded = any(event.args.get("blocks per SM", 0) > 0 for event in kernels)
            out[device] = {
                "busy": busy / (end - begin),
                "sm_efficiency": covered / (end - begin) if recorded else None,
                "occupancy": sum(v * w for v, w in weights) / sum(w for _, w in weights) / 100 if weights else None,
                "tensor_cores": tensor / time if nvidia and time else None,
            }
        return out

    def streams(self):
        """{(device, stream): its events, idle times and queue}."""
        launches = {}
        for call in self.calls:
            if "correlation" in call.args:
                launches.setdefault(call.args["correlation"], call.begin)
        last = max((step.begin for step in self.host_steps), default=None)
        if len({step.name for step in self.host_steps}) < 2:
            last = None
        streams = collections.defaultdict(list)
        for _, event in self.work:
            launch = launches.get(event.args.get("correlation"))
            if last is not None and (launch is None or launch >= last):
                continue
            streams[event.device, event.stream].append((event.begin, event.end, launch))
        loading = union((event.begin, event.end) for event in self.loaders)
        return {
            place: self._stream(sorted(events, key=lambda e: e[0]), loading)
            for place, events in sorted(streams.items())
        }

    @staticmethod
    def _stream(events, loading):
        out = {"events": len(events), "host": 0, "kernel": 0, "other": 0, "host_in_dataloader": 0}
        waits = []
        for (_, end, _), (begin, _, launch) in itertools.pairwise(events):
            if launch is not None and launch > end:
                kind = "host"
                waits.append((end, begin))
            else:
                kind = "kernel" if begin - end < 30_000 else "other"
            out[kind] += begin - end
        for begin, end in union(wait for wait in waits if wait[0] < wait[1]):
            out["host_in_dataloader"] += overlap(begin, end, loading)
        changes = [(launch, -1) for _, _, launch in events if launch is not None]
        changes += [(begin, 1) for begin, _, launch in events if launch is not None]
        lengths = list(itertools.accumulate(-change for _, change in sorted(changes)))
        out["mean"] = sum(lengths) / len(lengths) if lengths else 0
        out["max"] = max(lengths, default=0)
        return out

    def time_of_steps_in(self, category):
        """Nanoseconds of each step in events of the category, also where others cover them; the mean of the steps."""
        ranges = union((event.begin, event.end) for event in self.events[category])
        return sum(overlap(step.begin, step.end, ranges) for step in self.steps) / len(self.steps)


def union(ranges):
    out = []
    for begin, end in sorted(ranges):
        if out and begin <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        elif begin < end:
            out.append((begin, end))
    return out


def overlap(begin, end, ranges):
    first = bisect.bisect_right(ranges, (begin,)) - 1
    time = 0
    for left, right in ranges[max(first, 0) :]:
        if left >= end:
            break
        time += max(0, min(end, right) - max(begin, left))
    return time
