"""`augerino report` on the command line: where the page is written, and which input is rejected."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from augerino.app.cli import main
from tests.report.runs import make_run


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def rejected(capsys, *words: str) -> str:
    assert main(["report", *words]) == 2
    caught = capsys.readouterr()
    assert caught.err.startswith("augerino: ") and caught.err.count("\n") == 1 and caught.out == ""
    return caught.err


class TestWhere:
    def test_one_run_gets_its_page_in_its_folder_and_again(self, capsys):
        make_run(Path("run"), gallery=False)
        for _ in range(2):
            assert main(["report", "run"]) == 0
            assert capsys.readouterr().out == f"Report: {Path('run/report.html')}\n"
        assert Path("run/report.html").read_text().startswith("<!DOCTYPE html>")

    def test_several_runs_get_a_comparison_beside_it(self, capsys):
        make_run(Path("a"), gallery=False)
        make_run(Path("b"), gallery=False, seed=1)
        assert main(["report", "a", "b"]) == 0
        assert Path("a/comparison.html").exists() and not Path("a/report.html").exists()
        assert main(["report", "a", "b", "--out", "page.html"]) == 0 and Path("page.html").exists()

    def test_a_file_that_is_not_a_report_is_kept(self, capsys):
        make_run(Path("run"), gallery=False)
        Path("mine.html").write_text("<p>precious</p>")
        assert "is not an augerino report" in rejected(capsys, "run", "--out", "mine.html")
        assert Path("mine.html").read_text() == "<p>precious</p>"
        assert "is a folder" in rejected(capsys, "run", "--out", "run")
        assert "Cannot write" in rejected(capsys, "run", "--out", "nowhere/page.html")
        assert (
            main(["report", "run", "--out", "ours.html"]) == 0
            and main(["report", "run", "--out", "ours.html"]) == 0
        )

    def test_it_needs_no_torch(self):
        make_run(Path("run"))
        code = (
            "import sys\n"
            "from augerino.app.cli import main\n"
            "assert main(['report', 'run']) == 0\n"
            "assert 'torch' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code], check=True)


class TestRejected:
    def test_no_run_and_no_run_folder(self, capsys):
        Path("empty").mkdir()
        assert "Missing run folder" in rejected(capsys)
        assert "empty is not a run folder" in rejected(capsys, "empty")
        assert "nowhere is not a run folder" in rejected(capsys, "nowhere")

    def test_an_unfinished_run_names_the_command_that_resumes_it(self, capsys):
        make_run(Path("my run"), gallery=False)
        Path("my run/result.json").unlink()
        assert "augerino learn --resume 'my run'" in rejected(capsys, "my run")
        Path("my run/config.json").write_text('{"experiment": "mario"}')
        assert "augerino run --resume 'my run'" in rejected(capsys, "my run")

    @pytest.mark.parametrize(
        "file", ["result.json", "history.json", "policy.json", "gallery/gallery.json"]
    )
    @pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
    def test_a_damaged_file_is_named(self, capsys, file, content):
        make_run(Path("run"), gallery=False)
        Path("run/gallery").mkdir()
        Path("run", file).write_bytes(content)
        assert Path(file).name in rejected(capsys, "run")
        assert not Path("run/report.html").exists()

    @pytest.mark.parametrize(
        "value",
        [
            [],
            3,
            {},
            {"bounds": {"rotate": 0.8}},
            {"version": 3, "coordinates": []},
            {"experiment": "mario", "table": []},
        ],
    )
    def test_a_result_of_another_kind_is_named(self, capsys, value):
        make_run(Path("run"), gallery=False)
        Path("run/result.json").write_text(json.dumps(value))
        assert "result.json" in rejected(capsys, "run")

    def test_the_same_run_twice(self, capsys):
        make_run(Path("run"), gallery=False)
        assert "given twice" in rejected(capsys, "run", "./run")


class TestGallery:
    @pytest.fixture
    def rename(self):
        folder = make_run(Path("run")) / "gallery"
        data = json.loads((folder / "gallery.json").read_text())

        def to(name):
            data["strips"][0]["file"] = name
            (folder / "gallery.json").write_text(json.dumps(data))
            return folder

        return to

    @pytest.mark.parametrize(
        "name",
        [
            "../secret.png",
            "/etc/hostname",
            "a/b.png",
            "..",
            ".",
            "",
            "..\\secret.png",
            "a\x00.png",
            3,
            None,
        ],
    )
    def test_nothing_outside_the_gallery_is_read(self, capsys, rename, name):
        Path("run/secret.png").write_bytes(b"\x89PNG\r\n\x1a\nsecret")
        rename(name)
        assert "Files outside it are not read" in rejected(capsys, "run")

    @pytest.mark.skipif(not hasattr(os, "symlink"), reason="there are no links here")
    def test_a_link_out_of_the_gallery_is_not_followed(self, capsys, rename):
        Path("secret.png").write_bytes(b"\x89PNG\r\n\x1a\nsecret")
        (rename("link.png") / "link.png").symlink_to(Path("secret.png").resolve())
        assert "leads out of the gallery" in rejected(capsys, "run")

    def test_a_strip_that_is_missing_or_no_picture_is_named(self, capsys, rename):
        assert "gone.png" in rejected(capsys, "run") if rename("gone.png") else None
        (rename("text.png") / "text.png").write_text("<script>")
        assert "is not a PNG image" in rejected(capsys, "run")

    def test_without_its_gallery_a_run_still_has_a_page(self, capsys):
        make_run(Path("run"), gallery=False)
        assert main(["report", "run"]) == 0
        assert "Transformed examples" not in Path("run/report.html").read_text()
