from __future__ import annotations

import pytest
from django.utils import translation

from watchbook.base import clock
from watchbook.core import health, registry
from watchbook.core.health import Health


def test_healthy_without_seen_success_is_refused():
    with pytest.raises(ValueError, match="last_success_at"):
        Health(health.HEALTHY)
    assert Health(health.HEALTHY, last_success_at=clock.now()).is_good


@pytest.mark.parametrize("state", sorted(health.NEEDS_REASON))
def test_state_that_needs_attention_needs_a_reason(state):
    with pytest.raises(ValueError, match="reason"):
        Health(state)
    assert Health(state, reason="The site returned HTTP 503.").needs_attention


def test_unknown_state_is_refused():
    with pytest.raises(ValueError, match="unknown"):
        Health("fine", last_success_at=clock.now())


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_state_has_its_own_badge(language):
    with translation.override(language):
        words = [str(_health(state).badge().text) for state in health.STATES]
    assert len(set(words)) == len(health.STATES)
    assert not set(words) & set(health.STATES)


def test_worst_of_nothing_is_never_and_error_beats_all():
    assert health.worst([]).state == health.NEVER
    assert health.worst([_health(state) for state in health.STATES]).state == health.ERROR
    assert health.worst([_health(health.NEVER), _health(health.HEALTHY)]).state == health.NEVER


def test_all_health_asks_each_source_that_declares_it(monkeypatch):
    declared = registry.Source("one", "One", "globe", health=f"{__name__}:_failing")
    silent = registry.Source("two", "Two", "globe")
    monkeypatch.setattr(registry, "sources", lambda: (declared, silent))
    assert health.all_health(None) == {"one": _failing(None)}
    assert health.health_of(silent) is None


def _health(state):
    return Health(state, last_success_at=clock.now(), reason="Why.")


def _failing(user):
    return Health(health.FAILING, reason="The site returned HTTP 503.", detail=str(user))
