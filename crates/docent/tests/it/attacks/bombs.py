"""Small files that unpack to gigabytes, and the harmless ones around them.

    bombs.py FOLDER

Writes honest.zip, lying.zip and tape.tar.gz, each with a page before the bomb, and page.gz, which is nothing else.
"""

import os
import struct
import sys
import tarfile
import zlib

FOLDER = sys.argv[1]
SIZE = 4095 << 20
BEFORE = b"# Vacuuming\n\nVACUUM reclaims storage occupied by dead tuples.\n"


def packed(data):
    """A piece of a stream that refers to nothing before it, so that it can be said again and again."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    return squeeze.compress(data) + squeeze.flush(zlib.Z_FULL_FLUSH)


END = b"\3\0"
BOMB = packed(b" " * (1 << 20)) * (SIZE >> 20) + END


def archive(members):
    body, directory = b"", b""
    for name, data, size, crc in members:
        head = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, crc, len(data), size, len(name), 0)
        place = struct.pack("<HHHII", 0, 0, 0, 0, len(body))
        directory += b"PK\1\2" + struct.pack("<H", 20) + head + place + name
        body += b"PK\3\4" + head + name + data
    count = len(members)
    sizes = struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(body), 0)
    return body + directory + b"PK\5\6" + sizes


def page(name, text):
    return name, packed(text) + END, len(text), zlib.crc32(text)


def write(name, data):
    with open(os.path.join(FOLDER, name), "wb") as file:
        file.write(data)


def gzipped(stream):
    return b"\x1f\x8b\x08\0\0\0\0\0\0\3" + stream + struct.pack("<II", 0, SIZE)


def on_tape(name, size):
    about = tarfile.TarInfo(name)
    about.size = size
    return about.tobuf()


write("honest.zip", archive([page(b"before.md", BEFORE), (b"huge.md", BOMB, SIZE, 0)]))
write("lying.zip", archive([page(b"before.md", BEFORE), (b"huge.md", BOMB, 100, 0)]))
before = on_tape("before.md", len(BEFORE)) + BEFORE.ljust(512, b"\0")
write("tape.tar.gz", gzipped(packed(before + on_tape("huge.md", SIZE)) + BOMB))
write("page.gz", gzipped(BOMB))
