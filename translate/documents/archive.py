"""A ZIP package, such as an office file or an EPUB: members are read within limits, and written beside untouched ones.

A member that does not change is copied as the bytes of its record, so that its name, time, compression and place stay,
and a package without changes is the same file. The library `zipfile` reads the table of contents, but would compress
all members again. Limits stop a small file that unpacks to an enormous one.
"""

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from translate.documents.document import Reading, refuse_signed
from translate.errors import UserError

MAX_MEMBERS = 10_000
MAX_RATIO = 200  # of the unpacked size to that of the file, above MAX_UNSUSPECTED; XML reaches about 50
MAX_UNSUSPECTED = 2**24  # bytes

_LOCAL = struct.Struct("<4s5H3L2H")  # header of a member
_CENTRAL = struct.Struct("<4s6H3L5H2L")  # its entry in the table of contents
_END = struct.Struct("<4s4H2LH")  # end of that table
_ENCRYPTED, _DESCRIBED_LATER = 0x1, 0x8  # flags: sizes follow the content
_LARGE = 1  # extra field with sizes of 64 bits, which these limits make unnecessary
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # of Office until 2003, and of files with a password
# How the names of members begin that a package has, and how it is named.
_STARTS = {
    "META-INF/container.xml": ".epub",
    "META-INF/manifest.xml": ".odt, .odp, .ods or .odg",
    "word/": ".docx",
    "ppt/": ".pptx",
    "xl/": ".xlsx",
}
_SIGNATURES = ("META-INF/documentsignatures.xml", "META-INF/macrosignatures.xml", "META-INF/signatures.xml")


@dataclass(frozen=True)
class _Member:
    """The places of a member in the file: its header, its content and the end of its record, and its entry."""

    info: ZipInfo
    start: int
    content: int
    stop: int
    entry: int


class Archive:
    """A package that was read.

    Args:
        data: the file.
        reading: its name, its limit, and whether a signed package may be changed.

    Attributes:
        size: bytes of all members when unpacked.

    UserError if it is damaged, encrypted, too large, or names places outside of itself.
    """

    def __init__(self, data: bytes, reading: Reading) -> None:
        self._data, self._name, self._limit = data, reading.name, reading.limit
        try:
            with ZipFile(BytesIO(data)) as file:
                infos, self._contents, self._comment = file.infolist(), file.start_dir, file.comment
        except (BadZipFile, NotImplementedError, ValueError, EOFError, struct.error) as error:
            if data.startswith(_COMPOUND):
                raise self._wrong(
                    "has a password or the format of Office 2003; open it, remove the password and save it in the "
                    "current format"
                ) from error
            raise self._damaged() from error
        self.size = sum(info.file_size for info in infos)
        self._check(infos)
        try:
            self._members = self._places(infos)
        except struct.error as error:
            raise self._damaged() from error
        if self.is_signed:
            refuse_signed(reading)

    @property
    def names(self) -> list[str]:
        """The names of the members, in the order of the table of contents."""
        return list(self._members)

    def is_no(self, format: str, why: str = "") -> UserError:
        """Return the error of a package that is not of the format of its name, with how to name it."""
        suffix = next((own for start, own in _STARTS.items() if any(name.startswith(start) for name in self.names)), "")
        remedy = f"its name should end in {suffix}" if suffix else "save it again in the program that made it"
        return self._wrong(f"is no {format}{why}; {remedy}")

    @property
    def is_signed(self) -> bool:
        """Whether a signature says that the content is unchanged."""
        return any(name in _SIGNATURES or name.startswith("_xmlsignatures/") for name in self._members)

    def read(self, name: str) -> bytes:
        """Return the content of a member; KeyError if there is none, UserError if it is damaged."""
        member = self._members[name]
        info = member.info
        content = self._data[member.content : member.content + info.compress_size]
        if info.compress_type == ZIP_DEFLATED:
            try:  # never more than the size that was checked
                content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(content, info.file_size + 1)
            except zlib.error as error:
                raise self._damaged() from error
        if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
            raise self._damaged()
        return content

    def write(self, changed: Mapping[str, bytes | None]) -> bytes:
        """Return the package with other contents of some members; None leaves a member out.

        KeyError if one of the names is not in the package.
        """
        new = {name: content for name, content in changed.items() if content is None or content != self.read(name)}
        if not new:
            return self._data
        in_file = sorted(self._members.items(), key=lambda item: item[1].start)
        records, entries = [self._data[: in_file[0][1].start]], dict[str, bytes]()
        place = len(records[0])
        for name, member in in_file:
            content = new.get(name)
            if content is not None:
                record, entry = self._made(member, content, place)
            elif name not in new:
                record = self._data[member.start : member.stop]
                entry = self._entry(member, member.info.flag_bits, _sizes(member.info), place)
            else:
                continue
            records.append(record)
            entries[name] = entry
            place += len(record)
        table = b"".join(entries[name] for name in self.names if name in entries)
        end = _END.pack(b"PK\5\6", 0, 0, len(entries), len(entries), len(table), place, len(self._comment))
        return b"".join([*records, table, end, self._comment])

    def _made(self, member: _Member, content: bytes, place: int) -> tuple[bytes, bytes]:
        """Return the record of a member with another content at a place of the new file, and its entry."""
        packed = content
        if member.info.compress_type == ZIP_DEFLATED:
            deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
            packed = deflate.compress(content) + deflate.flush()
        sizes, flags = (zlib.crc32(content), len(packed), len(content)), member.info.flag_bits & ~_DESCRIBED_LATER
        *fixed, n_name, n_extra = _LOCAL.unpack_from(self._data, member.start)
        fixed[2], fixed[6:9] = flags, sizes
        end = member.start + _LOCAL.size + n_name
        name, extra = self._data[end - n_name : end], _without_large(self._data[end : end + n_extra])
        header = _LOCAL.pack(*fixed, n_name, len(extra))
        return b"".join([header, name, extra, packed]), self._entry(member, flags, sizes, place)

    def _entry(self, member: _Member, flags: int, sizes: tuple[int, int, int], place: int) -> bytes:
        """Return the entry of a member in the table of contents."""
        fixed = list(_CENTRAL.unpack_from(self._data, member.entry))
        n_name, n_extra, n_comment = fixed[10:13]
        end = member.entry + _CENTRAL.size + n_name
        name, extra = self._data[end - n_name : end], _without_large(self._data[end : end + n_extra])
        comment = self._data[end + n_extra : end + n_extra + n_comment]
        fixed[3], fixed[7:10], fixed[11], fixed[13], fixed[16] = flags, sizes, len(extra), 0, place
        return b"".join([_CENTRAL.pack(*fixed), name, extra, comment])

    def _check(self, infos: Sequence[ZipInfo]) -> None:
        """Raise UserError for a package that is empty or encrypted, above a limit, or has names that mislead."""
        if len(infos) > MAX_MEMBERS:
            raise self._wrong(f"has {len(infos):,} parts, and at most {MAX_MEMBERS:,} are read; divide the document")
        size = self.size
        if max(size, len(self._data)) > self._limit:
            raise self._wrong(
                f"has {max(size, len(self._data)):,} bytes when unpacked, and at most {self._limit:,} are read; "
                "divide the document"
            )
        if size > max(MAX_UNSUSPECTED, MAX_RATIO * len(self._data)):
            raise self._wrong(
                f"unpacks to {size / len(self._data):,.0f} times its size, and at most {MAX_RATIO} times are read; "
                "save it again in the program that made it"
            )
        names = [info.filename for info in infos]
        if not names or len({*names}) < len(names):
            raise self._damaged()
        for info in infos:
            if info.flag_bits & _ENCRYPTED:
                raise self._wrong("is encrypted; save it without a password")
            if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
                raise self._wrong(
                    f"{info.filename} is compressed by method {info.compress_type}, which documents do not use; save "
                    "it again in the program that made it"
                )
            parts = info.orig_filename.replace("\\", "/").split("/")
            if ".." in parts or parts[0] == "" or ":" in parts[0] or "\0" in info.orig_filename:
                raise self._wrong(
                    f"{info.orig_filename!r} names a place outside of the document; such a file is not read"
                )

    def _places(self, infos: Sequence[ZipInfo]) -> dict[str, _Member]:
        """Return where the members are; UserError if they overlap or differ from the table of contents."""
        entries, place = [], self._contents
        for _ in infos:
            entries.append(place)
            place += _CENTRAL.size + sum(_CENTRAL.unpack_from(self._data, place)[10:13])
        starts = sorted(info.header_offset for info in infos)
        stops = dict(zip(starts, [*starts[1:], self._contents], strict=True))
        members = {}
        for info, entry in zip(infos, entries, strict=True):
            start, stop = info.header_offset, stops[info.header_offset]
            mark, *_, n_name, n_extra = _LOCAL.unpack_from(self._data, start)
            content = start + _LOCAL.size + n_name + n_extra
            n_named = _CENTRAL.unpack_from(self._data, entry)[10]
            named = self._data[entry + _CENTRAL.size : entry + _CENTRAL.size + n_named]
            if (
                mark != b"PK\3\4"
                or content + info.compress_size > stop
                or named != self._data[start + _LOCAL.size : start + _LOCAL.size + n_name]
            ):
                raise self._damaged()
            members[info.filename] = _Member(info, start, content, stop, entry)
        return members

    def _wrong(self, rest: str) -> UserError:
        return UserError(f"{self._name}: {rest}")

    def _damaged(self) -> UserError:
        return self._wrong("is damaged or no ZIP package; save it again in the program that made it")


def _sizes(info: ZipInfo) -> tuple[int, int, int]:
    return info.CRC, info.compress_size, info.file_size


def _without_large(extra: bytes) -> bytes:
    """Return the extra fields of a header without that of sizes of 64 bits."""
    kept, start = list[bytes](), 0
    while start + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, start)
        if kind != _LARGE:
            kept.append(extra[start : start + 4 + size])
        start += 4 + size
    return b"".join([*kept, extra[start:]])
