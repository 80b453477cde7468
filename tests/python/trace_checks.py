"""Checks files against "Trace Event Format" (Google): https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU"""

import bisect
import collections
import itertools

PHASES = set("XCMbestf")
METADATA = {
    "process_name": "name",
    "process_labels": "labels",
    "process_sort_index": "sort_index",
    "thread_name": "name",
    "thread_sort_index": "sort_index",
}
APART = 0.0005  # microseconds, half a nanosecond: doubles of decimals


def check(trace):
    """Of a whole file, as json.load() gives it; raises AssertionError with the event."""
    assert trace.get("displayTimeUnit") in ("ms", "ns")
    assert isinstance(trace.get("baseTimeNanoseconds", 0), int)
    events = trace["traceEvents"]
    for event in events:
        check_event(event)
    check_nesting(events)
    check_asynchronous(events)
    check_flows(events)
    check_names(events)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_event(event):
    phase = event.get("ph")
    assert phase in PHASES, event
    assert isinstance(event.get("name"), str) and event["name"], event
    assert isinstance(event.get("cat"), str), event
    assert isinstance(event.get("pid"), int) and isinstance(event.get("tid"), int), event
    assert is_number(event.get("ts")) and event["ts"] >= 0, event
    assert isinstance(event.get("args", {}), dict), event
    if phase == "X":
        assert is_number(event.get("dur")) and event["dur"] >= 0, event
    else:
        assert "dur" not in event, event
    if phase == "C":
        assert event["args"] and all(is_number(value) for value in event["args"].values()), event
    if phase == "M":
        assert METADATA[event["name"]] in event["args"], event
    if phase in "bestf":
        assert isinstance(event.get("id"), int), event
    if phase == "f":
        assert event.get("bp") == "e", event


def slices(events):
    """By line, those that begin first and last longest first."""
    lines = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            lines[event["pid"], event["tid"]].append(event)
    for line in lines.values():
        line.sort(key=lambda event: (event["ts"], -event["dur"]))
    return lines


def covered(line):
    """When slices begin, and of each, when it and all before it have ended."""
    ends = itertools.accumulate((event["ts"] + event["dur"] for event in line), max)
    return [event["ts"] for event in line], list(ends)


def check_nesting(events):
    for line in slices(events).values():
        opened = []
        for event in line:
            while opened and opened[-1]["ts"] + opened[-1]["dur"] <= event["ts"] + APART:
                opened.pop()
            if opened:
                assert event["ts"] + event["dur"] <= opened[-1]["ts"] + opened[-1]["dur"] + APART, (opened[-1], event)
            opened.append(event)


def check_asynchronous(events):
    begun = {}
    for event in events:
        key = (event["cat"], event.get("id"))
        if event["ph"] == "b":
            assert key not in begun, event
            begun[key] = event
        if event["ph"] == "e":
            began = begun.pop(key)
            assert began["ts"] <= event["ts"] and began["name"] == event["name"] and began["pid"] == event["pid"], event
    assert not begun, begun


def check_flows(events):
    lines = {name: covered(line) for name, line in slices(events).items()}
    flows = collections.defaultdict(list)
    for event in events:
        if event["ph"] in "stf":
            flows[event["cat"], event["name"], event["id"]].append(event)
    for flow in flows.values():
        assert [event["ph"] for event in flow] == ["s", *"t" * (len(flow) - 2), "f"], flow
        assert [event["ts"] for event in flow] == sorted(event["ts"] for event in flow), flow
        for event in flow:
            begins, ends = lines[event["pid"], event["tid"]]
            before = bisect.bisect_right(begins, event["ts"] + APART)
            assert before and event["ts"] <= ends[before - 1] + APART, event


def check_names(events):
    """Every line with a slice has a name, and no two events name the same line."""
    named = [(event["pid"], event["tid"]) for event in events if event["ph"] == "M" and event["name"] == "thread_name"]
    assert len(named) == len(set(named))
    assert set(slices(events)) <= set(named)
    processes = [event["pid"] for event in events if event["ph"] == "M" and event["name"] == "process_name"]
    assert len(processes) == len(set(processes))
    assert {event["pid"] for event in events} <= set(processes)
