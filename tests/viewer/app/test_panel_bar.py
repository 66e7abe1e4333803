"""The row of panels beside the menus."""

from viewer.app.features.panel_bar import PanelButtons
from viewer.app.panel_bar import ON_BAR


def bar_of(window):
    return next(f for f in window.features if isinstance(f, PanelButtons)).bar


def opened(qtbot, windows, folder):
    window = windows()
    window.resize(1500, 800)
    window.open_paths([folder])
    qtbot.waitUntil(lambda: window.has_job and not window.controller.running, timeout=20_000)
    side = next(f for f in window.features if type(f).__name__ == "SidePanels")
    qtbot.waitUntil(lambda: side.are_filled, timeout=20_000)
    return window


def test_a_click_shows_a_panel_and_another_puts_it_away(qtbot, windows, job_folder):
    window = opened(qtbot, windows, job_folder)
    bar = bar_of(window)
    assert bar.isVisible()
    for name in ("kernels", "stragglers", "range"):
        assert not window.docks[name].isVisible()
        bar.buttons[name].click()
        qtbot.waitUntil(lambda name=name: window.docks[name].isVisible() and bar.buttons[name].isChecked())
    bar.buttons["kernels"].click()  # behind the others: it comes to the front
    qtbot.waitUntil(lambda: window.docks.in_front("kernels"))
    bar.buttons["kernels"].click()
    qtbot.waitUntil(lambda: not window.docks["kernels"].isVisible())
    assert not bar.buttons["kernels"].isChecked()


def test_what_has_no_room_is_in_the_menu(qtbot, windows, job_folder):
    window = opened(qtbot, windows, job_folder)
    bar = bar_of(window)
    bar.fit(10_000)
    assert all(b.isVisibleTo(bar) for b in bar.buttons.values())
    assert not bar.more.isVisibleTo(bar)
    bar.fit(300)
    hidden = [p.title for p in ON_BAR if not bar.buttons[p.name].isVisibleTo(bar)]
    assert hidden
    assert bar.more.isVisibleTo(bar)
    bar.more.menu().aboutToShow.emit()
    assert [a.text() for a in bar.more.menu().actions()] == hidden
    bar.more.menu().actions()[0].trigger()
    name = next(p.name for p in ON_BAR if p.title == hidden[0])
    qtbot.waitUntil(window.docks[name].isVisible)


def test_without_a_job_there_is_no_bar(qtbot, windows, job_folder):
    window = opened(qtbot, windows, job_folder)
    window.close_job()
    assert not bar_of(window).isVisible()


def test_every_button_has_an_action_that_shows_its_panel(windows):
    window = windows()
    for spec in ON_BAR:
        assert window.actions_[spec.action or f"show_{spec.name}"] is not None
