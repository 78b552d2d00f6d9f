"""Selected files of a `.tar.gz`: complete or rejected, in bounded memory."""

import gzip
import io
import tarfile

import pytest

import augerino as ag
from augerino.data.readers import tarballs


def pack(path, contents):
    with tarfile.open(path, "w:gz") as tar:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def test_wanted_files_are_read_completely_and_by_name(tmp_path):
    long = bytes(range(256)) * 1000  # longer than what is read at once
    path = pack(tmp_path / "a.tar.gz", {"x/readme": b"no", "x/a.bin": long, "../b.bin": b"b" * 7})
    assert tarballs.read_members(path, {"a.bin": 2**20, "b.bin": 7}) == {
        "a.bin": long,
        "b.bin": b"b" * 7,
    }


def test_oversized_and_missing_members_are_rejected(tmp_path):
    path = pack(tmp_path / "a.tar.gz", {"a": b"12345"})
    with pytest.raises(
        ag.InputError, match=r"a in .*a\.tar\.gz has 5 bytes, but should have 4 at most"
    ):
        tarballs.read_members(path, {"a": 4})
    with pytest.raises(ag.InputError, match="lacks b"):
        tarballs.read_members(path, {"a": 5, "b": 5})


def test_a_name_that_claims_gigabytes_gets_none_of_them(tmp_path, monkeypatch):
    member = tarfile.TarInfo("././@LongLink")
    member.type, member.size = tarfile.GNUTYPE_LONGNAME, 2**32
    with gzip.open(tmp_path / "a.tar.gz", "wb") as file:
        file.write(member.tobuf(tarfile.GNU_FORMAT) + b"a" * 2**20)
    sizes = []
    read = gzip.GzipFile.read
    monkeypatch.setattr(
        gzip.GzipFile, "read", lambda self, size=-1: sizes.append(size) or read(self, size)
    )
    with pytest.raises(ag.InputError, match="is not a complete archive: a name of more than 64 kB"):
        tarballs.read_members(tmp_path / "a.tar.gz", {"x": 10})
    assert sizes and max(sizes) <= 2**16
