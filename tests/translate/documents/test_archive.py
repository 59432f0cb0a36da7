"""Packages: what changes is written, all else is copied byte for byte, and what is not sound is refused."""

import contextlib
import struct
import zlib
from dataclasses import replace
from io import BytesIO
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.documents import archive
from translate.documents.archive import Archive
from translate.documents.document import Reading, read
from translate.errors import UserError

READING = Reading(name="letter.docx", source="de", target="en")
NAMES = st.from_regex(r"[a-zäö]{1,5}(/[a-z]{1,5}){0,2}\.xml", fullmatch=True)
CONTENTS = st.one_of(st.binary(max_size=40), st.builds(lambda n: b"Wort " * n, st.integers(0, 999)))


class Unseekable(BytesIO):
    """A pipe: a ZIP written to it has the sizes of each member after its content."""

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        raise OSError

    def seek(self, *place: int) -> int:
        raise OSError


@st.composite
def packages(draw: st.DrawFn) -> tuple[bytes, dict[str, bytes]]:
    """A package, with sizes before or after the contents, of 32 or 64 bits, and its members."""
    members = draw(st.dictionaries(NAMES, CONTENTS, min_size=1, max_size=5))
    file = draw(st.sampled_from([BytesIO, Unseekable]))()
    with ZipFile(file, "w") as package:
        package.comment = draw(st.sampled_from([b"", b"made by hand"]))
        for name, content in members.items():
            info = ZipInfo(name, (2001, 2, 3, 4, 5, 6))
            info.compress_type = draw(st.sampled_from([ZIP_STORED, ZIP_DEFLATED]))
            info.comment, info.external_attr = draw(st.sampled_from([b"", b"first"])), draw(st.integers(0, 2**32 - 1))
            info.extra = draw(st.sampled_from([b"", struct.pack("<2H3s", 0xCAFE, 3, b"abc")]))
            with package.open(info, "w", force_zip64=draw(st.booleans())) as member:
                member.write(content)
    return file.getvalue(), members


def described(package: ZipFile, name: str) -> tuple[object, ...]:
    info = package.getinfo(name)
    return info.date_time, info.compress_type, info.comment, info.external_attr, info.create_system


@given(packages())
def test_contents_that_stay_give_the_same_file(given: tuple[bytes, dict[str, bytes]]) -> None:
    data, members = given
    package = Archive(data, READING)
    assert {name: package.read(name) for name in package.names} == members
    assert package.write({}) == data
    assert package.write(members) == data


@given(packages(), st.data())
def test_other_contents_are_read_back_and_all_else_is_kept(
    given: tuple[bytes, dict[str, bytes]], draw: st.DataObject
) -> None:
    data, members = given
    names = draw.draw(st.sets(st.sampled_from(sorted(members)), min_size=1))
    changed = {name: draw.draw(CONTENTS) for name in names}
    with ZipFile(BytesIO(Archive(data, READING).write(changed))) as new, ZipFile(BytesIO(data)) as old:
        assert new.testzip() is None
        assert new.namelist() == old.namelist()
        assert {name: new.read(name) for name in members} == members | changed
        assert new.comment == old.comment
        assert [described(new, name) for name in members] == [described(old, name) for name in members]


@given(packages(), st.data())
def test_a_member_that_is_left_out_is_gone(given: tuple[bytes, dict[str, bytes]], draw: st.DataObject) -> None:
    data, members = given
    name = draw.draw(st.sampled_from(sorted(members)))
    with ZipFile(BytesIO(Archive(data, READING).write({name: None}))) as new:
        assert new.testzip() is None
        assert {other: new.read(other) for other in new.namelist()} == {n: c for n, c in members.items() if n != name}


def test_a_copied_record_keeps_its_compressed_bytes() -> None:
    """Recompressing would give other bytes: here the content was compressed at the least level."""
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED, compresslevel=1) as package:
        package.writestr("a.xml", b"".join(b"%d " % (n * n) for n in range(500)))
        package.writestr("b.xml", b"old")
    data = file.getvalue()
    end = data.index(b"PK\3\4", 4)
    assert Archive(data, READING).write({"b.xml": b"new"})[:end] == data[:end]


@given(packages(), st.data())
def test_damage_is_refused_or_harmless(given: tuple[bytes, dict[str, bytes]], draw: st.DataObject) -> None:
    data, _ = given
    place = draw.draw(st.integers(0, len(data) - 1))
    harmed = data[:place] + bytes([draw.draw(st.integers(0, 255))]) + data[place + 1 :]
    cut = data[: draw.draw(st.integers(0, len(data)))]
    for one in (harmed, cut):
        with contextlib.suppress(UserError):
            package = Archive(one, READING)
            package.write({name: package.read(name) + b"x" for name in package.names})


def zipped(names: dict[str, bytes], method: int = ZIP_DEFLATED) -> bytes:
    file = BytesIO()
    with ZipFile(file, "w", method) as package:
        for name, content in names.items():
            package.writestr(name, content)
    return file.getvalue()


def test_what_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = zipped({"a.xml": bytes(50_000)})
    Archive(data, READING)
    monkeypatch.setattr(archive, "MAX_UNSUSPECTED", 3_000)
    with pytest.raises(UserError, match="unpacks to .* times its size, and at most 200 times"):
        Archive(data, READING)
    with pytest.raises(UserError, match="has 50,000 bytes when unpacked, and at most 49,999"):
        Archive(data, replace(READING, limit=49_999))
    monkeypatch.setattr(archive, "MAX_MEMBERS", 2)
    with pytest.raises(UserError, match="has 3 parts, and at most 2"):
        Archive(zipped({"a": b"", "b": b"", "c": b""}), READING)


def test_a_size_that_is_not_true_unpacks_no_more() -> None:
    """The table of contents says 5 bytes, and the content has a million."""
    data = bytearray(zipped({"a.xml": bytes(1_000_000)}))
    entry = data.rindex(b"PK\1\2")
    struct.pack_into("<L", data, entry + 24, 5)
    struct.pack_into("<L", data, entry + 16, zlib.crc32(bytes(5)))
    with pytest.raises(UserError, match="is damaged"):
        Archive(bytes(data), READING).read("a.xml")


@pytest.mark.parametrize("name", ["../a.xml", "/etc/a.xml", "word/../../a.xml", "c:/a.xml", "word\\..\\a.xml"])
def test_places_outside_of_the_document_are_refused(name: str) -> None:
    with pytest.raises(UserError, match="names a place outside of the document"):
        Archive(zipped({name: b"a"}), READING)


def test_a_name_twice_is_refused() -> None:
    """Readers differ in which one they take."""
    file = BytesIO()
    with ZipFile(file, "w") as package:
        package.writestr("a.xml", b"one")
        with pytest.warns(UserWarning, match="Duplicate name"):
            package.writestr("a.xml", b"two")
    with pytest.raises(UserError, match="is damaged"):
        Archive(file.getvalue(), READING)


def test_encrypted_members_are_refused() -> None:
    data = bytearray(zipped({"a.xml": b"a"}))
    for header, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(header) + place] |= 1
    with pytest.raises(UserError, match="is encrypted; save it without a password"):
        Archive(bytes(data), READING)


def test_other_files_are_refused_with_a_remedy() -> None:
    with pytest.raises(UserError, match="has a password or the format of Office 2003"):
        Archive(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(999), READING)
    for data in (b"", b"Guten Morgen", zipped({})):
        with pytest.raises(UserError, match=r"letter\.docx: is damaged or no ZIP package"):
            Archive(data, READING)
    with pytest.raises(UserError, match="compressed by method 12"):
        Archive(zipped({"a.xml": b"a"}, ZIP_BZIP2), READING)


@pytest.mark.parametrize("name", ["_xmlsignatures/sig1.xml", "META-INF/documentsignatures.xml"])
def test_a_signed_document_is_changed_by_force_only(name: str) -> None:
    data = zipped({"a.xml": b"a", name: b"signature"})
    with pytest.raises(UserError, match="is signed, and a translation loses the signature; add --force"):
        Archive(data, READING)
    forced = Archive(data, Reading(name="letter.docx", source="de", target="en", force=True))
    assert forced.is_signed
    with ZipFile(BytesIO(forced.write({name: None}))) as new:
        assert new.namelist() == ["a.xml"]


@pytest.mark.parametrize(
    ("member", "suffix", "said"),
    [
        ("word/document.xml", ".odt", "its name should end in .docx"),
        ("xl/workbook.xml", ".epub", "its name should end in .xlsx"),
        ("META-INF/manifest.xml", ".docx", "its name should end in .odt, .odp, .ods or .odg"),
        ("META-INF/container.xml", ".pptx", "its name should end in .epub"),
        ("other.xml", ".docx", "save it again in the program that made it"),
    ],
)
def test_a_package_with_another_suffix_is_refused_with_its_own(member: str, suffix: str, said: str) -> None:
    file = BytesIO()
    with ZipFile(file, "w") as package:
        package.writestr(member, "<a/>")
    with pytest.raises(UserError, match=rf"^letter{suffix}: is no .*; {said}$"):
        read(file.getvalue(), Reading(name=f"letter{suffix}", source="de", target="en"))
