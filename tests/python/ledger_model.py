"""A reader and auditor of ledgers, written from docs/spec/ledger.md alone."""

import json
import pathlib
import re
import struct

NAME = re.compile(r"(\d{20})-(\d+)-of-(\d+)-\d+\.ledger")
ORDER = ("dataset", "samples", "shuffle", "shuffle_block", "subset", "last")
APART = 10_000_000_000  # ns


def _table():
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


TABLE = _table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def header_of(data):
    """(the text's object, where the records begin); None where it is damaged."""
    if len(data) < 24 or data[:8] != b"pnstckLG":
        return None
    version, begins, length, checksum = struct.unpack_from("<4I", data, 8)
    text = data[24 : 24 + length]
    if len(text) < length or crc32c(data[8:20] + text) != checksum or version != 1:
        return None
    return json.loads(text), begins


class Stretch:
    def __init__(self, time, numbers, state, rank):
        self.time = time
        self.epoch, self.position, self.seed, self.shuffle_block, self.start, self.batch = numbers
        self.world, self.batch_size, self.rank = state["world"], state["batch_size"], rank
        self.batches = []  # (kind, numbers)

    def turn(self):
        return self.world, self.batch_size, self.seed, self.shuffle_block, self.start, self.batch

    def given(self, limit):
        return [(n[1], min(n[2], limit)) for kind, n in self.batches if kind == 2 and n[1] < min(n[2], limit)]


class File:
    def __init__(self, path):
        data = path.read_bytes()
        self.damaged, self.torn, self.stretches, self.times = False, False, [], []
        header = header_of(data)
        if header is None:
            self.header, self.damaged = None, True
            return
        self.header, begins = header
        state, rank = self.header["state"], self.header["rank"]
        body = data[begins:]
        count = (len(body.rstrip(b"\0")) + 63) // 64
        known = False
        for number in range(count):
            raw = body[64 * number : 64 * number + 64]
            checksum, kind, time, *numbers = struct.unpack("<IIQ6Q", raw) if len(raw) == 64 else (0, 0, 0)
            if len(raw) < 64 or kind not in (1, 2, 3, 4, 5) or crc32c(struct.pack("<Q", number) + raw[4:]) != checksum:
                self.torn |= number == count - 1
                self.damaged |= number < count - 1
                continue
            self.times.append(time)
            if kind == 1:
                known = numbers[4] <= numbers[1] <= state["samples"]
                self.damaged |= not known
                if known:
                    self.stretches.append(Stretch(time, numbers, state, rank))
            elif kind in (2, 3, 5):
                rises = sorted(numbers[1:5]) == numbers[1:5] and numbers[4] <= state["samples"]
                if known and rises:
                    self.stretches[-1].batches.append((kind, numbers))
                self.damaged |= not (known and rises)
        self.stretches = [stretch for stretch in self.stretches if stretch.batches]


def history_of(stretches):
    history = {}
    for new in sorted(stretches, key=lambda stretch: stretch.time):
        turns = history.setdefault(new.epoch, [])
        if turns and next(iter(turns[-1].values()))[0].turn() == new.turn():
            turns[-1][new.rank] = [new, float("inf")]
            for epoch in [epoch for epoch in history if epoch > new.epoch]:
                kept = []
                for turn in history[epoch]:
                    other = next(iter(turn.values()))[0]
                    if (other.world, other.batch_size) == (new.world, new.batch_size):
                        turn.pop(new.rank, None)
                        kept += [turn] if turn else []
                history[epoch] = kept
            continue
        turns[:] = [turn for turn in turns if next(iter(turn.values()))[0].position < new.position]
        for turn in turns:
            for share in turn.values():
                share[1] = min(share[1], new.position)
        for epoch in [epoch for epoch in history if epoch > new.epoch]:
            del history[epoch]
        turns.append({new.rank: [new, float("inf")]})
    return {epoch: turns for epoch, turns in sorted(history.items()) if turns}


def current_epochs(stretches, history):
    if not stretches:
        return set()
    latest = max(stretches, key=lambda stretch: stretch.time)
    current = {latest.epoch}
    if all(len(stretch.batches) <= 2 for stretch, _ in history[latest.epoch][-1].values()):
        last_of = {}
        for stretch in sorted(stretches, key=lambda stretch: stretch.time):
            if stretch.world == latest.world:
                last_of[stretch.rank] = stretch.epoch
        current |= {epoch for epoch in last_of.values() if epoch == latest.epoch - 1}
    return current


def ranges_in(positions):
    ranges = []
    for position in positions:
        if ranges and ranges[-1][1] == position:
            ranges[-1][1] += 1
        else:
            ranges.append([position, position + 1])
    return ranges


def audit_epoch(epoch, turns, current, samples, ever):
    counts = [0] * samples
    for turn in turns:
        for stretch, limit in turn.values():
            for first, end in stretch.given(limit):
                for position in range(first, end):
                    counts[position] += 1
    last = list(turns[-1].values())
    ends = last[0][0].batches[-1][1][4]
    lacking = [position for position in range(ends) if counts[position] == 0]
    missing = lacking
    if lacking and epoch in current:
        reached = min(stretch.batches[-1][1][3] for stretch, _ in last)
        if len(last) < last[0][0].world:
            reached = last[0][0].position
        missing = [position for position in lacking if position < reached]
    twice = [position for position in range(samples) for _ in range(counts[position] - 1)]
    orders = [(next(iter(turn.values()))[0].seed, next(iter(turn.values()))[0].shuffle_block) for turn in turns]
    faulty = bool(missing or twice) or len(set(orders)) > 1
    return {
        "epoch": epoch,
        "verdict": "faulty" if faulty else "unfinished" if lacking else "proved",
        "delivered": sum(count > 0 for count in counts),
        "left_out": samples - ends,
        "taken_back": ever - sum(counts),
        "missing": ranges_in(missing),
        "twice": len(twice),
    }


def audit(folder):
    """{"good", "epochs"}, with what an audit says of each epoch."""
    files = [File(path) for path in sorted(pathlib.Path(folder).iterdir()) if NAME.fullmatch(path.name)]
    headers = [file.header for file in files if file.header]
    assert len({json.dumps([header["state"].get(name) for name in ORDER]) for header in headers}) <= 1
    stretches = [stretch for file in files for stretch in file.stretches]
    history = history_of(stretches)
    current = current_epochs(stretches, history)
    epochs = []
    for epoch, turns in history.items():
        ever = sum(end - first for stretch in stretches if stretch.epoch == epoch
                   for first, end in stretch.given(float("inf")))  # fmt: skip
        epochs.append(audit_epoch(epoch, turns, current, headers[0]["state"]["samples"], ever))
    shares = {}
    for file in files:
        if file.header and file.times:
            shares.setdefault((file.header["rank"], file.header["state"]["world"]), []).append(file.times)
    overlap = False
    for times in shares.values():
        times.sort()
        overlap |= any(max(before) > times[i][0] + APART for i in range(len(times)) for before in times[:i])
    good = not (overlap or any(file.damaged for file in files) or any(one["verdict"] == "faulty" for one in epochs))
    return {"good": good, "epochs": epochs, "torn": sum(file.torn for file in files)}
