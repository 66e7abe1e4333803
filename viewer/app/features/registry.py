"""All features of a window, in the order in which they are made."""

from __future__ import annotations

from typing import Final

from viewer.app.features.base import Feature
from viewer.app.features.clocks import ClocksFeature
from viewer.app.features.command_palette import CommandPalette
from viewer.app.features.comparing import Comparing
from viewer.app.features.find import Find
from viewer.app.features.findings import Findings
from viewer.app.features.job_card import JobCardFeature
from viewer.app.features.lane_view import LaneView
from viewer.app.features.launch_queues import LaunchQueues
from viewer.app.features.marks import MarksFeature
from viewer.app.features.measure import Measuring
from viewer.app.features.memory import Memory
from viewer.app.features.navigation import Navigation
from viewer.app.features.pack import SavePack
from viewer.app.features.panel_bar import PanelButtons
from viewer.app.features.pictures import PictureActions
from viewer.app.features.report import SaveReport
from viewer.app.features.run_history import RunHistory
from viewer.app.features.running import Running
from viewer.app.features.selection import SelectionTable
from viewer.app.features.session import SessionFeature
from viewer.app.features.side_panels import SidePanels
from viewer.app.features.steps import Steps
from viewer.app.features.stragglers import Stragglers

FEATURES: Final[tuple[type[Feature], ...]] = (
    Navigation,
    Find,
    CommandPalette,
    SelectionTable,
    PictureActions,
    SavePack,
    SaveReport,
    SessionFeature,
    MarksFeature,
    Steps,
    Measuring,
    LaneView,
    LaunchQueues,
    ClocksFeature,
    Running,
    Stragglers,
    Memory,
    RunHistory,
    Comparing,
    Findings,
    JobCardFeature,
    PanelButtons,
    SidePanels,
)
