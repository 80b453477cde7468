"""Writes TFRecord files and messages of protobuf, from their documentation alone."""

import struct


def _checksums():
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
        yield number


TABLE = list(_checksums())


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF)


def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def message(number, data):
    """The field of that number, as bytes of a known length."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def record(data):
    length = struct.pack("<Q", len(data))
    return length + masked_crc32c(length) + data + masked_crc32c(data)


def write_records(path, *messages):
    path.write_bytes(b"".join(record(data) for data in messages))
    return path
