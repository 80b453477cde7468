"""Draws docs/images/trace.svg: a timeline of some batches, from a trace of a loader on photographs."""

import json
import pathlib
import tempfile
import time

from svg import arguments, photographs, rect, text, write

LEFT, WIDTH, FIRST, BATCHES, STEP = 124, 700, 4, 10, 0.045
LANES = {"reads": 52, "worker 0": 86, "worker 1": 140, "ready batches": 194, "training loop": 230}
KINDS = {"request": "other", "decode": "ours", "transform": "light", "ready": "other", "step": "pale", "next": "wait"}
LEGEND = [
    ("ours", "decode", 250),
    ("light", "transform", 334),
    ("wait", "data wait", 436),
    ("pale", "training step", 536),
]


def trace_of(options):
    """The events of a loader's trace."""
    from penstock import ReadOptions

    settings = {"batch_size": 24, "workers": 2, "read_options": ReadOptions(engine="io_uring")}
    with tempfile.TemporaryDirectory() as folder:
        with photographs(options, **settings) as loader, loader.trace(f"{folder}/trace.json"):
            for number, _ in enumerate(loader):
                time.sleep(STEP)  # the training step
                if number == FIRST + BATCHES + 8:  # all batches that are ready in the picture have been taken
                    break
        return json.loads(pathlib.Path(f"{folder}/trace.json").read_text())["traceEvents"]


def spans(events):
    """Lane, name, batch, begin and end of each span, in ms. Rows say to which batch the work of a worker belongs."""
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    begun, batch = {}, {}
    for event in sorted((e for e in events if e["ph"] in "Xbe"), key=lambda e: (e["ts"], -e.get("dur", 0))):
        name, begin, thread = event["name"], event["ts"] / 1e3, threads.get((event["pid"], event["tid"]))
        if event["ph"] == "b":
            begun[event["id"]] = begin
        elif event["ph"] == "e":
            yield "reads", "request", None, begun.get(event["id"], begin), begin
        else:
            lane = {"next": "training loop", "step": "training loop", "ready": "ready batches"}.get(name, thread)
            batch[lane] = event.get("args", {}).get("batch", batch.get(lane))
            yield lane, name, batch[lane], begin, begin + event["dur"] / 1e3


options = arguments(__doc__, photos="photos")
every = [span for span in spans(trace_of(options)) if span[0] in LANES and span[1] in KINDS]
steps = [span for span in every if span[1] == "step" and FIRST <= span[2] < FIRST + BATCHES]
start, end = steps[0][3], steps[-1][4]
scale, parts, labels = WIDTH / (end - start), [text(20, 30, "Ten batches", "title")], set()
for kind, words, x in LEGEND:
    parts += [rect(x, 19, 13, 13, kind), text(x + 19, 30, words)]
parts += [text(20, y + 17, lane) for lane, y in LANES.items()]
for lane, name, batch, begin, stop in every:
    x, width = LEFT + scale * (max(begin, start) - start), scale * (min(stop, end) - max(begin, start))
    new = name in ("decode", "step") and (lane, batch) not in labels
    labels |= {(lane, batch)} if new else set()
    if width > 0:
        row, height = (3 * (batch % 8), 2) if name == "ready" else (0, 24)
        box = f"M{x:.1f} {LANES[lane] + row}h{width:.2f}v{height}h-{width:.2f}z"
        parts.append(f'<path class="{KINDS[name]}" d="{box}"/>')
        if new:
            parts.append(text(x + 3, LANES[lane] + (17 if name == "step" else 40), str(batch), "small"))
for x, ms in ((LEFT + scale * ms, ms) for ms in range(0, int(end - start) + 1, 50)):
    parts.append(f'<path class="line" d="M{x:.1f} 266v5"/>' + text(x, 286, f"{ms} ms", "small", "middle"))
write(options, "trace.svg", "A timeline of ten batches", LEFT + WIDTH + 24, 298, parts)
