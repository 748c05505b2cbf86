"""Numbers stay where they are when code moves."""

import json

import frozen_state
import pytest

FROZEN = json.loads(frozen_state.FROZEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize("part", ["zoo_answers", "corpus", "shipped_codes", "verdicts"])
def test_nothing_has_moved(part: str):
    now = getattr(frozen_state, part)()
    then = FROZEN[{"zoo_answers": "zoo", "shipped_codes": "shipped"}.get(part, part)]
    assert now.keys() == then.keys()
    assert {name: value for name, value in now.items() if value != then[name]} == {}
