"""Frames: whatever comes in, in whatever pieces, the reader finds the frames or says what is wrong."""

import json
import struct
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from stratagem.serving.errors import BadRequest
from stratagem.serving.frames import (
    LARGEST_BODY,
    LARGEST_HEADER,
    PREFIX,
    TYPES,
    BadFrame,
    BrokenStream,
    Frame,
    FrameReader,
    write_frame,
)

headers = st.dictionaries(
    st.text(max_size=8).filter(lambda name: name != "arrays"),
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    max_size=5,
)
arrays = st.lists(
    st.sampled_from(sorted(TYPES)).flatmap(
        lambda name: npst.arrays(
            TYPES[name], npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
        )
    ),
    max_size=4,
)
messages = st.lists(st.tuples(headers, arrays), min_size=1, max_size=4)


def in_pieces(data, cuts):
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[a:b] for a, b in pairwise(edges)]


def raw(header: bytes, body: bytes = b"") -> bytes:
    return PREFIX.pack(b"SG", 1, 0, len(header), len(body)) + header + body


@settings(deadline=None, max_examples=100)
@given(messages, st.lists(st.integers(0, 10_000), max_size=12))
def test_what_was_written_is_read_whatever_the_pieces(sent, cuts):
    data = b"".join(write_frame(header, contents) for header, contents in sent)
    reader = FrameReader()
    got = [frame for piece in in_pieces(data, cuts) for frame in reader.feed(piece)]
    assert len(got) == len(sent)
    for frame, (header, contents) in zip(got, sent, strict=True):
        assert isinstance(frame, Frame)
        assert frame.header == header
        assert [array.shape for array in frame.arrays] == [array.shape for array in contents]
        for one, other in zip(frame.arrays, contents, strict=True):
            assert one.dtype == other.dtype
            assert one.tobytes() == other.tobytes()
    assert not reader.buffer


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=200), st.lists(st.integers(0, 10_000), max_size=5))
def test_noise_is_refused_in_words(noise, cuts):
    reader = FrameReader()
    broken = ""
    for piece in in_pieces(noise, cuts):
        try:
            for frame in reader.feed(piece):
                assert isinstance(frame, Frame | BadFrame)
        except BrokenStream as error:
            broken = error.field
            break
    assert broken in ("", "magic", "version", "header length", "body length")
    assert broken or len(noise) < PREFIX.size or noise.startswith(b"SG")


@settings(deadline=None, max_examples=200)
@given(messages, st.data())
def test_a_frame_with_a_wrong_byte_never_takes_its_neighbour_along(sent, data):
    """A wrong byte behind the prefix: that frame is read or refused, and the next one is read as it was."""
    header, contents = sent[0]
    good = write_frame({"id": 7}, [np.arange(3)])
    hurt = bytearray(write_frame(header, contents))
    place = data.draw(st.integers(PREFIX.size, len(hurt) - 1))
    hurt[place] ^= data.draw(st.integers(1, 255))
    first, second = FrameReader().feed(bytes(hurt) + good)
    assert isinstance(first, Frame | BadFrame)
    assert second.header == {"id": 7}
    assert second.arrays[0].tolist() == [0, 1, 2]


@settings(deadline=None, max_examples=200)
@given(
    st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)),
    st.binary(max_size=40),
)
def test_any_list_of_arrays_is_read_or_refused(listed, body):
    frame = next(FrameReader().feed(raw(json.dumps({"id": 3, "arrays": listed}).encode(), body)))
    if isinstance(frame, BadFrame):
        assert frame.field.startswith("arrays")
        assert frame.header["id"] == 3
    else:
        assert sum(array.nbytes for array in frame.arrays) == len(body)


@pytest.mark.parametrize(
    ("header", "body", "field", "message"),
    [
        (b"{", b"", "header", "not JSON"),
        (b"[1]", b"", "header", "object, not list"),
        (b"\xff\xfe", b"", "header", "not JSON"),
        (b"[" * 60_000, b"", "header", "not JSON"),
        (b'{"arrays": 5}', b"", "arrays", "list of at most"),
        (b'{"arrays": [["object", [1]]]}', b"", "arrays[0]", "type 'object'"),
        (b'{"arrays": [["uint8", [-1]]]}', b"", "arrays[0]", "no sensible shape"),
        (b'{"arrays": [["uint8", [true]]]}', b"\0", "arrays[0]", "no sensible shape"),
        (b'{"arrays": [["uint8", [4]], ["int64", [2]]]}', b"\0" * 12, "arrays[1]", "needs 16 bytes, the body has 8"),
        (b'{"arrays": [["float32", [99999, 99999, 99999]]]}', b"", "arrays[0]", "needs"),
        (b'{"arrays": [["bool", [2]]]}', b"\0\2", "arrays[0]", "0 or 1"),
        (b"{}", b"abc", "arrays", "3 bytes that no array claims"),
    ],
)  # fmt: skip
def test_a_bad_frame_names_the_field(header, body, field, message):
    frame = next(FrameReader().feed(raw(header, body)))
    assert isinstance(frame, BadFrame)
    assert frame.field == field
    assert message in str(frame)


@pytest.mark.parametrize(
    ("prefix", "field"),
    [
        (b"GET / HTTP/1.1\r\n", "magic"),
        (struct.pack("<2sBBII", b"SG", 2, 0, 2, 0), "version"),
        (struct.pack("<2sBBII", b"SG", 1, 0, LARGEST_HEADER + 1, 0), "header length"),
        (struct.pack("<2sBBII", b"SG", 1, 0, 2, LARGEST_BODY + 1), "body length"),
    ],
)
def test_a_stream_without_borders_is_broken(prefix, field):
    with pytest.raises(BrokenStream) as refused:
        list(FrameReader().feed(prefix))
    assert refused.value.field == field


def test_a_message_that_no_reader_would_take_is_not_written():
    with pytest.raises(BadRequest, match="too large"):
        write_frame({"id": 1, "text": "x" * LARGEST_HEADER})
    for strange in (np.array(["text"]), np.array([1j]), np.array([1, 2], ">i4")):
        with pytest.raises(BadRequest, match="cannot be sent"):
            write_frame({"id": 1}, [strange])
