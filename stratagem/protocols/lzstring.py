"""LZ-string: the compression of generals.io replays.

A stream of bits, the first bit of a byte being its highest; the numbers in it have their lowest bit first. Packets
follow one another, each opened by a code:
- 0 or 1: a new character comes, in 8 or 16 bits. It is given the next free code.
- 2: the end.
- any other: a text that was given this code.
From the second packet on, the text of the packet before with the first character of this one is given the next free
code, too; that very code may already be used by this packet. A code takes as many bits as the next free code needs.
Characters are UTF-16 units. The stream is filled up with zeros to whole units, at least one bit.
"""

from stratagem.core.errors import DamagedFile

NARROW, WIDE, END, FIRST = range(4)  # the codes with a meaning of their own, and the first of the others
UNIT = 16  # bits of a UTF-16 unit, in which streams are measured
LONGEST = 1 << 25  # characters; more than any replay holds, so that a small file cannot fill the memory


def compress(text: str) -> bytes:
    """The stream of a text."""
    raw = text.encode("utf-16-le", "surrogatepass")
    units = [raw[place] | raw[place + 1] << 8 for place in range(0, len(raw), 2)]
    codes: dict[tuple[int, int], int] = {}  # (code of a text, next unit) -> code of both together
    letters: dict[int, int] = {}  # unit -> code
    fresh: set[int] = set()  # codes of units that have not been written yet
    bits: list[str] = []
    free, reader_free = (
        FIRST,
        FIRST,
    )  # the next code that is given here, and the next one that a reader will give

    def number(value: int, width: int) -> None:
        bits.append(format(value, f"0{width}b")[::-1])

    def packet(code: int, unit: int) -> None:
        nonlocal reader_free
        width = reader_free.bit_length()
        if code in fresh:
            fresh.remove(code)
            number(NARROW if unit < 256 else WIDE, width)
            number(unit, 8 if unit < 256 else UNIT)
            reader_free += 1
        else:
            number(code, width)

    held, last, packets = -1, 0, 0  # the code of the text that is held back, and its last unit
    for unit in units:
        if unit not in letters:
            letters[unit] = free
            fresh.add(free)
            free += 1
        if held < 0:
            held, last = letters[unit], unit
        elif (held, unit) in codes:
            held, last = codes[held, unit], unit
        else:
            packet(held, last)
            reader_free += packets > 0
            packets += 1
            codes[held, unit] = free
            free += 1
            held, last = letters[unit], unit
    if held >= 0:
        packet(held, last)
        reader_free += packets > 0
    number(END, reader_free.bit_length())
    stream = "".join(bits)
    stream += "0" * (UNIT - len(stream) % UNIT)
    return int(stream, 2).to_bytes(len(stream) // 8, "big")


def decompress(data: bytes, longest: int = LONGEST) -> str:
    """The text of a stream; DamagedFile if it is none, or longer than `longest` characters."""
    bits = format(int.from_bytes(data, "big"), f"0{8 * len(data)}b") if data else ""
    texts: list[list[int]] = []
    place, length = 0, 0
    units: list[int] = []
    before: list[int] = []

    def number(width: int) -> int:
        nonlocal place
        piece = bits[place : place + width]
        if len(piece) < width:
            raise DamagedFile("the compressed text breaks off: its end is missing")
        place += width
        return int(piece[::-1], 2)

    while True:
        free = FIRST + len(texts)
        code = number(free.bit_length())
        if code == END:
            break
        if code < END:
            texts.append([number(8 if code == NARROW else UNIT)])
            text = texts[-1]
        elif code < free:
            text = texts[code - FIRST]
        elif code == free and before:
            text = [*before, before[0]]
        else:
            raise DamagedFile(f"the compressed text is damaged: code {code}, where the next one is {free}")
        length += len(text)
        if length > longest:
            raise DamagedFile(f"the compressed text is longer than {longest} characters")
        units += text
        if before:
            texts.append([*before, text[0]])
        before = text
    raw = b"".join(unit.to_bytes(2, "little") for unit in units)
    return raw.decode("utf-16-le", "surrogatepass")
