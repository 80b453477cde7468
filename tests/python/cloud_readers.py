"""Other readers of PLY, PCD and OFF files: trimesh, pypcd4, and NumPy alone on headers read here.

Each gives (coordinates (N, 3) as it read them, attributes by name), or None where it does not read the file. A reader that is not
installed reads none."""

import importlib.util
import re

import numpy as np

PLY_TYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4",
             "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4",
             "float32": "f4", "float64": "f8"}  # fmt: skip


def without_coordinates(columns):
    """Columns by name, apart into coordinates and the rest; None without coordinates."""
    by_axis = {name.lower(): name for name in columns}
    if not set("xyz") <= set(by_axis):
        return None
    axes = [by_axis[axis] for axis in "xyz"]
    coordinates = np.stack([np.asarray(columns[axis]) for axis in axes], 1)
    return coordinates, {name: values for name, values in columns.items() if name not in axes}


def without_padding(columns):
    """Of PCD: fields called "_" are nothing (pypcd4 gives them names of its own), and a colour is four bytes."""
    told = {}
    for name, values in columns.items():
        if name in ("rgb", "rgba"):
            channels = np.ascontiguousarray(values).view(np.uint8).reshape(-1, 4)
            told |= {"red": channels[:, 2], "green": channels[:, 1], "blue": channels[:, 0]}
            told |= {"alpha": channels[:, 3]} if name == "rgba" else {}
        elif name != "_" and not name.startswith("#$%&~~"):
            told[name] = values
    return told


def of_text(rows, dtype):
    """Columns of rows of words: coordinates as the text has them, whatever type the header says; the rest in their types."""
    columns = {name: np.array([row[i] for row in rows], np.float64) for i, name in enumerate(dtype.names)}
    return {n: values if n.lower() in "xyz" else values.astype(dtype[n]) for n, values in columns.items()}


def ply_header(content):
    """Byte order, [(element, count, [(type, name)])] with type None for lists, and where the header ends."""
    order, elements, at = None, [], 0
    while True:
        end = content.index(b"\n", at) + 1
        words, at = content[at:end].decode("latin-1").split(), end
        if words[:1] == ["format"]:
            order = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}[words[1]]
        elif words[:1] == ["element"]:
            elements.append((words[1], int(words[2]), []))
        elif words[:1] == ["property"]:
            elements[-1][2].append((None if words[1] == "list" else PLY_TYPES[words[1]], words[-1]))
        elif words == ["end_header"]:
            return order, elements, at


def ply_by_numpy(path):
    """Vertices without lists, of binary files behind elements without lists, of text behind any."""
    content = path.read_bytes()
    order, elements, at = ply_header(content)
    lines = None if order else content[at:].decode("latin-1").splitlines()
    for element, count, properties in elements:
        listed = any(kind is None for kind, _ in properties)
        if element == "vertex" and not listed:
            dtype = np.dtype([(name, (order or "") + kind) for kind, name in properties])
            if lines is None:
                rows = np.frombuffer(content, dtype, count, at)
                return without_coordinates(
                    {name: rows[name].astype(dtype[name].newbyteorder("<")) for name in dtype.names}
                )
            words = [line.split() for line in lines if line.strip()][:count]
            return without_coordinates(of_text(words, dtype))
        if lines is not None:
            lines = lines[count:]
        elif listed:
            at = end_of_lists(content, at, count, order, properties)
        else:
            at += count * np.dtype([(name, kind) for kind, name in properties]).itemsize
        if at is None:
            return None
    return None


def end_of_lists(content, at, count, order, properties):
    """Behind `count` elements of one list, uchar count and 4-byte numbers; None for other ones."""
    if len(properties) != 1 or not re.search(rb"property list (uchar|uint8) (u?int|u?int32) ", content[:at]):
        return None
    for _ in range(count):
        at += 1 + 4 * content[at]
    return at


def ply_by_trimesh(path):
    if importlib.util.find_spec("trimesh") is None:
        return None
    import trimesh

    try:
        vertices = trimesh.load(path, process=False).metadata["_ply_raw"]["vertex"]
    except (KeyError, ValueError):
        return None
    scalars = {name: kind for name, kind in vertices["properties"].items() if "$LIST" not in kind}
    if not vertices["length"] or not {"x", "y", "z"} <= set(scalars):
        return None
    data = vertices["data"]
    return without_coordinates({name: np.ravel(data[name]).astype(np.dtype(kind).newbyteorder("<"))
                                for name, kind in scalars.items()})  # fmt: skip


def off_by_trimesh(path):
    if importlib.util.find_spec("trimesh") is None:
        return None
    import trimesh

    return np.asarray(trimesh.load(path, process=False).vertices, np.float64), {}


def off_by_numpy(path):
    """Numbers behind the counts, whatever the lines are."""
    text = re.sub(r"#.*", "", path.read_text("latin-1")).strip()
    words = re.sub(r"^C?OFF\s*", "", text).split()
    count = int(words[0])
    return np.array(words[3 : 3 + 3 * count], np.float64).reshape(count, 3), {}


def pcd_by_pypcd4(path):
    if importlib.util.find_spec("pypcd4") is None:
        return None
    from pypcd4 import PointCloud

    try:
        rows = PointCloud.from_path(path).pc_data
    except ValueError:  # pydantic's too
        return None
    return without_coordinates(without_padding({name: rows[name] for name in rows.dtype.names}))


def pcd_by_numpy(path):
    """Text and plain binary, one number for each field."""
    content = path.read_bytes()
    told = {}
    at = 0
    while "DATA" not in told:
        end = content.find(b"\n", at) + 1
        if end == 0:
            return None
        line, at = content[at:end].decode("latin-1").split("#")[0].split(), end
        if line:
            told[line[0]] = line[1:]
    if not {"FIELDS", "SIZE", "TYPE"} <= set(told) or set(told.get("COUNT", ["1"])) != {"1"}:
        return None
    kinds = [f"<{letter.lower()}{size}" for letter, size in zip(told["TYPE"], told["SIZE"])]
    count = int(told["POINTS"][0]) if "POINTS" in told else int(told["WIDTH"][0]) * int(told["HEIGHT"][0])
    dtype = np.dtype(list(zip(told["FIELDS"], kinds)))
    if told["DATA"] == ["binary"]:
        rows = np.frombuffer(content, dtype, count, at)
        return without_coordinates(without_padding({name: rows[name] for name in dtype.names}))
    if told["DATA"] != ["ascii"]:
        return None
    words = [re.split(r"[\s,]+", line.strip()) for line in content[at:].decode("latin-1").splitlines() if line.strip()]
    return without_coordinates(without_padding(of_text(words[:count], dtype)))


READERS = {
    ".ply": [ply_by_trimesh, ply_by_numpy],
    ".off": [off_by_trimesh, off_by_numpy],
    ".pcd": [pcd_by_pypcd4, pcd_by_numpy],
}
