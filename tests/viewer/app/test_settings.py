from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from viewer.app.settings import MAX_RECENT, Settings, SettingsFile, default_path, pack_bytes, unpack_bytes


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "deep" / "settings.json")
    saved = Settings("dark", [["/a b/x.json"], ["/c", "/dé"]], "/a b", pack_bytes(b"\x00\xff"), "")
    assert file.save(saved)
    assert file.load() == saved
    assert unpack_bytes(file.load().geometry) == b"\x00\xff"


def test_no_file_means_defaults(tmp_path: Path) -> None:
    assert SettingsFile(tmp_path / "none.json").load() == Settings()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"', "\x00", "[" * 100_000])
def test_a_damaged_file_is_kept_aside_and_defaults_are_used(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text)
    assert SettingsFile(path).load() == Settings()
    assert (tmp_path / "settings.json.damaged").read_text() == text


@pytest.mark.parametrize(
    "data",
    [
        {"theme": "pink", "recent": "no", "last_folder": 3, "geometry": None},
        {"theme": ["dark"], "recent": [[], "x", [1], [""], {}], "layout": {}},
    ],
)
def test_values_without_sense_fall_back_one_by_one(tmp_path: Path, data: object) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(data))
    assert SettingsFile(path).load() == Settings()


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"theme": "dark", "x": "' + "y" * 1_000_001 + '"}')
    assert SettingsFile(path).load().theme == "system"


def test_an_unwritable_place_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not SettingsFile(tmp_path / "file" / "settings.json").save(Settings())


def test_recent_jobs_are_unique_newest_first_and_bounded() -> None:
    settings = Settings()
    for i in range(MAX_RECENT + 5):
        settings.remember([f"/{i}"])
    settings.remember(["/10"])
    settings.remember([])
    assert settings.recent[0] == ["/10"]
    assert len(settings.recent) == MAX_RECENT
    assert sum(r == ["/10"] for r in settings.recent) == 1
    settings.forget(["/10"])
    assert ["/10"] not in settings.recent


def test_what_is_known_of_recent_jobs_is_kept_with_them_and_nonsense_is_not(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "settings.json")
    settings = Settings()
    settings.remember(["/a", "/b"], 8, 1_700_000_000)
    file.save(settings)
    assert file.load().about == {"/a\n/b": (8, 1_700_000_000)}
    for nonsense in ({"/a\n/b": [8]}, {"/a\n/b": ["8", 1]}, {"/gone": [1, 1]}, [1], {"/a\n/b": [True, 1]}):
        data = json.loads(file.path.read_text())
        data["about"] = nonsense
        file.path.write_text(json.dumps(data))
        assert file.load().about == {}
    settings.forget_all()
    assert (settings.recent, settings.about) == ([], {})


def test_damaged_bytes_are_none() -> None:
    assert unpack_bytes("???") == b""
    assert unpack_bytes("é") == b""


def test_the_default_place_is_the_users_config_folder() -> None:
    assert default_path() == Path(os.environ["XDG_CONFIG_HOME"]) / "rankscope" / "settings.json"
