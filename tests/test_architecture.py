"""The picture of ARCHITECTURE.md is what the code's imports say."""

import re
from pathlib import Path

import grimp
import pytest

import tiltmeter

PICTURE = (Path(__file__).parents[1] / "ARCHITECTURE.md").read_text()
MOST_FLOORS = 8
_ROOMS = re.compile(r"^(\d| ) {3}(\w+(?: {3}\w+)*) {3,}\S", re.MULTILINE)


def drawn():
    """The floor of each room."""
    floors, floor = {}, 0
    for number, rooms in _ROOMS.findall(PICTURE):
        floor = int(number) if number.strip() else floor
        floors |= dict.fromkeys(rooms.split(), floor)
    return floors


def room_of(module):
    """The folder of a module: of jobs one below; none of the files of the command."""
    _, top, *rest = [*module.split("."), ""]
    return rest[0] if top == "jobs" and rest[0] in drawn() else top


@pytest.fixture(scope="module")
def imports():
    """Pairs of rooms of which one imports the other, with the modules."""
    graph = grimp.build_graph("tiltmeter", cache_dir=None)
    pairs = {}
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            one, other = room_of(module), room_of(imported)
            if one != other and {one, other} <= drawn().keys():
                pairs.setdefault((one, other), []).append((module, imported))
    return pairs


def test_every_room_is_drawn_once_and_is_there():
    sources = Path(tiltmeter.__file__).parent
    folders = [*sources.iterdir(), *(sources / "jobs").iterdir()]
    rooms = [folder.name for folder in folders if (folder / "__init__.py").exists()]
    assert sorted(drawn()) == sorted({*rooms} - {"jobs"})
    assert max(drawn().values()) <= MOST_FLOORS


def test_rooms_use_those_below_and_each_stands_as_low_as_it_can(imports):
    upwards = {pair: modules[0] for pair, modules in imports.items() if drawn()[pair[0]] <= drawn()[pair[1]]}
    assert upwards == {}
    lowest = {room: 1 + max((drawn()[low] for high, low in imports if high == room), default=0) for room in drawn()}
    resting = {room: floor for room, floor in drawn().items() if floor != lowest[room]}
    assert resting == {}
