"""The wire: one frame a message, the same in both directions.

    bytes 0–1    "SG"
    byte  2      version of this format, 1
    byte  3      zero
    bytes 4–7    length of the header, little-endian
    bytes 8–11   length of the body, little-endian
    header       a JSON object in UTF-8
    body         the bytes of the arrays that the header lists, one after the other, little-endian, C order

The header's `arrays` is a list of `[type, shape]`, as in `[["uint8", [5, 5, 5]], ["bool", [25]]]`; without it there is
no body. Nothing is ever evaluated or unpickled.

Two kinds of damage: a frame whose borders are known but whose content is wrong (`BadFrame`, the stream goes on behind
it), and a stream in which the borders are lost or too far apart (`BrokenStream`, nothing after it can be read).
"""

import json
import math
import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from stratagem.serving.errors import BadRequest

MAGIC, VERSION = b"SG", 1
PREFIX = struct.Struct("<2sBBII")
LARGEST_HEADER = 1 << 16
LARGEST_BODY = 1 << 24
MOST_ARRAYS = 64
TYPES = {
    name: np.dtype(name).newbyteorder("<")
    for name in (
        "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
        "float16", "float32", "float64",
    )
}  # fmt: skip
NAMES = {kind: name for name, kind in TYPES.items()}


class BadFrame(BadRequest):
    """This frame makes no sense, the next one may. `header` is what could be read of it."""

    def __init__(self, message: str, field: str, header: dict[str, Any] | None = None):
        super().__init__(message, field)
        self.header = header or {}


class BrokenStream(BadRequest):
    """Where the next frame begins is not known any more."""


class Frame(NamedTuple):
    """One message."""

    header: dict[str, Any]
    arrays: list[np.ndarray]


def write_frame(header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> bytes:
    """The bytes of one message."""
    body = b""
    if arrays:
        listed, parts = [], []
        for array in arrays:
            if array.dtype not in NAMES:
                raise BadRequest(
                    f"arrays of {array.dtype} cannot be sent; there is {', '.join(TYPES)}", "arrays"
                )
            listed.append([NAMES[array.dtype], array.shape])
            parts.append(array.tobytes())
        header, body = {**header, "arrays": listed}, b"".join(parts)
    head = json.dumps(header, separators=(",", ":")).encode()
    if len(head) > LARGEST_HEADER or len(body) > LARGEST_BODY:
        raise BadRequest(f"a message of {len(head)} and {len(body)} bytes is too large", "length")
    return PREFIX.pack(MAGIC, VERSION, 0, len(head), len(body)) + head + body


class FrameReader:
    """Cuts a stream of bytes into frames, whatever the pieces in which it comes."""

    def __init__(self, largest_header: int = LARGEST_HEADER, largest_body: int = LARGEST_BODY):
        self.largest_header, self.largest_body = largest_header, largest_body
        self.buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame | BadFrame]:
        """The frames that are complete now; BrokenStream when no more can come."""
        self.buffer += data
        start = 0
        try:
            while len(self.buffer) - start >= PREFIX.size:
                head, body = self._lengths(start)
                end = start + PREFIX.size + head + body
                if len(self.buffer) < end:
                    break
                middle = start + PREFIX.size + head
                header, content = (
                    bytes(self.buffer[start + PREFIX.size : middle]),
                    bytes(self.buffer[middle:end]),
                )
                start = end
                yield read_content(header, content)
        finally:
            del self.buffer[:start]

    def _lengths(self, start: int) -> tuple[int, int]:
        magic, version, zero, head, body = PREFIX.unpack_from(self.buffer, start)
        if magic != MAGIC:
            raise BrokenStream(f"a frame begins with {MAGIC!r}, not {magic!r}", "magic")
        if version != VERSION or zero:
            raise BrokenStream(f"frames of version {version}; this side speaks {VERSION}", "version")
        if head > self.largest_header:
            raise BrokenStream(f"a header of {head} bytes; at most {self.largest_header}", "header length")
        if body > self.largest_body:
            raise BrokenStream(f"a body of {body} bytes; at most {self.largest_body}", "body length")
        return head, body


def read_content(head: bytes, body: bytes) -> Frame | BadFrame:
    """A frame from its two parts, or what is wrong with it."""
    try:
        header = json.loads(head)
    except (ValueError, RecursionError) as error:
        return BadFrame(f"the header is not JSON ({error})", "header")
    if not isinstance(header, dict):
        return BadFrame(f"the header is a JSON object, not {type(header).__name__}", "header")
    try:
        return Frame(header, read_arrays(header.pop("arrays", []), body))
    except BadFrame as error:
        error.header = header
        return error


def read_arrays(listed: Any, body: bytes) -> list[np.ndarray]:
    """The arrays that a header lists; they must fill the body exactly."""
    if not isinstance(listed, list) or len(listed) > MOST_ARRAYS:
        raise BadFrame(f"arrays is a list of at most {MOST_ARRAYS} [type, shape]", "arrays")
    arrays, start = [], 0
    for index, entry in enumerate(listed):
        field = f"arrays[{index}]"
        if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[1], list):
            raise BadFrame(f"{field} is [type, shape]", field)
        kind, shape = entry
        if not isinstance(kind, str) or kind not in TYPES:
            raise BadFrame(f"{field} has type {kind!r}; there is {', '.join(TYPES)}", field)
        if len(shape) > 16 or not all(type(side) is int and 0 <= side <= LARGEST_BODY for side in shape):
            raise BadFrame(f"{field} has no sensible shape", field)
        count = math.prod(shape)
        size = count * TYPES[kind].itemsize
        if start + size > len(body):
            raise BadFrame(f"{field} needs {size} bytes, the body has {len(body) - start} left", field)
        if kind == "bool" and body[start : start + size].translate(None, b"\0\1"):
            raise BadFrame(f"{field}: a bool is 0 or 1", field)
        arrays.append(np.frombuffer(body, TYPES[kind], count, start).reshape(shape))
        start += size
    if start != len(body):
        raise BadFrame(f"the body has {len(body) - start} bytes that no array claims", "arrays")
    return arrays
