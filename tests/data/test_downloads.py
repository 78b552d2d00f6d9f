"""Downloads: checked, cached, resumed; a clear error if a file is not available."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

import augerino as ag
from augerino.data import downloads as cache

CONTENT = bytes(range(256)) * 4000
SHA = hashlib.sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serves CONTENT: /file has ranges, /plain has none, /cut is truncated, /wrong is wrong."""

    seen: ClassVar[list] = []

    def do_GET(self):
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        Handler.seen.append((self.path, start))
        if self.path == "/missing":
            self.send_error(404)
            return
        start = 0 if self.path == "/plain" else start
        if start >= len(CONTENT):
            self.send_error(416)
            return
        body = CONTENT[start:] if self.path != "/wrong" else b"something else"
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if self.path == "/cut" else body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("AUGERINO_CACHE", str(tmp_path / "cache"))
    Handler.seen = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()


def test_a_file_is_fetched_once_with_progress(server):
    seen = []
    remote = cache.Remote("file.bin", [f"{server}/file"], SHA)
    path = cache.fetch(remote, progress=lambda have, total: seen.append((have, total)))
    assert path.read_bytes() == CONTENT and seen[-1] == (len(CONTENT), len(CONTENT))
    assert cache.fetch(remote) == path and len(Handler.seen) == 1
    assert cache.find("file.bin", None) == path and cache.find("other.bin", None) is None


def test_an_interrupted_download_is_resumed(server):
    with pytest.raises(ag.InputError, match="the connection ended after"):
        cache.fetch(cache.Remote("file.bin", [f"{server}/cut"], SHA))
    assert cache.fetch(cache.Remote("file.bin", [f"{server}/file"], SHA)).read_bytes() == CONTENT
    assert Handler.seen[-1] == ("/file", len(CONTENT) // 2)


def test_a_server_that_cannot_resume_sends_it_all(server, tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "file.bin.part").write_bytes(b"rubbish")
    assert cache.fetch(cache.Remote("file.bin", [f"{server}/plain"], SHA)).read_bytes() == CONTENT


def test_a_whole_part_needs_no_more_bytes(server, tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "file.bin.part").write_bytes(CONTENT)
    assert cache.fetch(cache.Remote("file.bin", [f"{server}/file"], SHA)).read_bytes() == CONTENT


def test_the_next_mirror_is_tried_and_a_wrong_file_is_never_kept(server, tmp_path):
    remote = cache.Remote(
        "file.bin", [f"{server}/missing", f"{server}/wrong", f"{server}/file"], SHA
    )
    assert cache.fetch(remote).read_bytes() == CONTENT
    with pytest.raises(ag.InputError, match=r"SHA-256 differs.*--data DIR"):
        cache.fetch(cache.Remote("bad.bin", [f"{server}/wrong"], SHA))
    assert (
        not (tmp_path / "cache" / "bad.bin").exists()
        and not (tmp_path / "cache" / "bad.bin.part").exists()
    )


def test_offline_error_names_the_file_and_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("AUGERINO_CACHE", str(tmp_path / "cache"))
    with pytest.raises(
        ag.InputError,
        match=r"Could not download mnist\.gz .*Put the file into .*cache, or name the folder",
    ):
        cache.fetch(cache.Remote("mnist.gz", ["http://127.0.0.1:9/x"], SHA))


def test_an_md5_serves_where_no_other_checksum_was_published(server):
    good = hashlib.md5(CONTENT).hexdigest()
    assert (
        cache.fetch(cache.Remote("file.bin", [f"{server}/file"], md5=good)).read_bytes() == CONTENT
    )
    with pytest.raises(ag.InputError, match="MD5 differs"):
        cache.fetch(cache.Remote("bad.bin", [f"{server}/wrong"], md5=good))
