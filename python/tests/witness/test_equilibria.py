"""The queue of a controller at rest is what its paper says (docs/validation.md)."""

from __future__ import annotations

import pytest
from closed_forms import DOCS
from equilibria import LAWS, Law, measure

from bentpipe import registry


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.label)
def test_the_queue_at_rest_is_that_of_the_paper(law: Law) -> None:
    found = list(measure([law]))
    assert len(found) == 3
    for rest in found:
        assert rest.agrees, rest.row()


def test_the_page_says_for_every_controller_whether_it_has_a_closed_form() -> None:
    page = (DOCS / "validation" / "closed-forms.md").read_text(encoding="utf-8")
    listed = page.partition("## Which controllers have one")[2].partition("\n#")[0]
    assert [entry["id"] for entry in registry.controllers() if f"`{entry['id']}`" not in listed] == []
