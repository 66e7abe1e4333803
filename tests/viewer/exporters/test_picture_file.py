from __future__ import annotations

import os
from pathlib import Path

import pytest

from viewer.base.errors import InputError, UsageError
from viewer.base.scene import PictureScene
from viewer.exporters.picture import check_size, picture_format, write_picture


def scene(width: int = 200, height: int = 100, scale: float = 1.0) -> PictureScene:
    return PictureScene(width, height, scale, "#ffffff", (), "T", "D")


def painter(_: PictureScene, kind: str) -> bytes:
    return f"painted {kind}".encode()


@pytest.mark.parametrize(("name", "kind"), [("a.png", "png"), ("a.SVG", "svg"), ("a.b.pdf", "pdf")])
def test_the_suffix_is_the_format(name: str, kind: str) -> None:
    assert picture_format(Path(name)) == kind


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("a.gif", "'gif' is no picture format: end the file name in .png, .svg or .pdf"),
        ("a", "'a' names no picture format"),
    ],
)
def test_other_suffixes_are_refused(name: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        picture_format(Path(name))


def test_files_are_written_whole_and_alone(tmp_path: Path) -> None:
    for name in ("a.png", "a.pdf"):
        assert write_picture(scene(), tmp_path / name, painter).read_bytes() == f"painted {name[2:]}".encode()
    assert write_picture(scene(), tmp_path / "a.svg", painter).read_text().startswith("<?xml")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.pdf", "a.png", "a.svg"]
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / "a.png").stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_failure_leaves_the_earlier_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"earlier")

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match=r"a\.png: the picture cannot be written \(no space left on device\)\. Choose"):
        write_picture(scene(), path, painter)
    assert path.read_bytes() == b"earlier"
    assert [p.name for p in tmp_path.iterdir()] == ["a.png"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link.png").symlink_to(tmp_path / "real.png")
    write_picture(scene(), tmp_path / "link.png", painter)
    assert (tmp_path / "link.png").is_symlink()
    assert (tmp_path / "real.png").read_bytes() == b"painted png"


def test_a_missing_folder_and_a_folder_as_file_are_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: there is no such folder\. Create it"):
        write_picture(scene(), tmp_path / "nowhere" / "a.png", painter)
    (tmp_path / "b.png").mkdir()
    with pytest.raises(InputError, match=r"b\.png: is a folder"):
        write_picture(scene(), tmp_path / "b.png", painter)


def test_sizes_are_bounded_before_anything_is_painted(tmp_path: Path) -> None:
    def never(_: PictureScene, kind: str) -> bytes:
        raise AssertionError(kind)

    with pytest.raises(UsageError, match="would be 20000x10000 pixels; a side has at most 16384"):
        write_picture(scene(5000, 2500, 4.0), tmp_path / "a.png", never)
    with pytest.raises(UsageError, match="16000x12000 pixels and need 732 MiB"):
        write_picture(scene(4000, 3000, 4.0), tmp_path / "a.png", never)
    check_size(7680, 4320, 2.0, "png")
    check_size(7680, 4320, 4.0, "pdf")
