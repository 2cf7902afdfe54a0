"""The file of a paper's choices and readings."""

from dataclasses import dataclass, field

import pytest

from bentpipe.studies.declared import VARIANTS_FILE, read_variants
from bentpipe.studies.design import BASE, Choices, Design, Origin, Reading, Size

FULL = """
[where]
lossy = { part = ["loss", "late"] }

[variants.buffer-50]
choice = "buffer 50 packets"
evidence = "default"
source = "Queue limit_ of ns-2"
quick = true
where = "lossy"
set = { buffer = 50, span = [1.0, 2.0] }

[variants.eq6]
choice = "eq. 6 per ACK"
where = "lossy"
cc = ["a-liad", "liad"]
more = { "a-liad liad" = { mode = "eq6" } }

[variants.published]
choice = "Westwood of 2001"
where = { part = "loss" }
options = { westwood = {} }

[variants.only-late]
choice = "late"
only_joint = true
where = "late"
set = { buffer = 7 }

[readings.as-printed]
title = "to the letter"
variants = ["eq6", "published"]
quick = true

[readings.other]
title = "another"
variants = ["only-late"]
where = "lossy"
"""


@dataclass(frozen=True)
class Setup(Choices):
    buffer: int = 100
    span: tuple[float, float] = (0.0, 1.0)
    flow: dict = field(default_factory=dict)


FIRST = Setup(options={"westwood": {"name": "westwood-plus"}, "liad": {"beta": 0.5}})


def read(folder, text):
    (folder / VARIANTS_FILE).write_text(text, encoding="utf-8")
    return read_variants(str(folder / "setup.py"), FIRST, {"late": lambda keys: keys["part"] == "late"})


def test_variants_change_the_set_up_and_touch_some_runs(tmp_path):
    (buffer, eq6, published), (letter, other), (late,) = read(tmp_path, FULL)
    assert buffer.setup == FIRST.changed(buffer=50, span=(1.0, 2.0))
    assert (buffer.choice, buffer.evidence, buffer.source, buffer.quick) == (
        "buffer 50 packets", Origin.DEFAULT, "Queue limit_ of ns-2", True,
    )  # fmt: skip
    assert buffer.touches({"part": "late", "cc": "reno"}) and not buffer.touches(
        {"part": "mixed", "cc": "reno"}
    )
    assert eq6.setup.options == {
        "westwood": {"name": "westwood-plus"},
        "liad": {"beta": 0.5, "mode": "eq6"},
        "a-liad": {"mode": "eq6"},
    }
    assert eq6.evidence == Origin.OURS and not eq6.quick
    assert [eq6.touches({"part": "loss", "cc": cc}) for cc in ("liad", "reno")] == [True, False]
    assert published.setup.options == {"westwood": {}, "liad": {"beta": 0.5}}
    assert [late.touches({"part": part}) for part in ("late", "loss")] == [True, False]
    assert letter == Reading("as-printed", "to the letter", ("eq6", "published"), None, quick=True)
    assert other.touches is not None and other.touches({"part": "loss"}) and not other.quick
    design = Design(
        FIRST, (buffer, eq6, published), {"quick": Size(1, 1)}, lambda of: [], lambda of: {}, note="",
        keeps=lambda keys, seed: False, readings=(letter, other), only_joint=(late,),
    )  # fmt: skip
    assert design.joined("only-late").setup.buffer == 7 and design.joined().name == BASE


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (
            "[variants.a]\nchoice = 'x'\nsets = {}",
            r"variants\.toml, variant 'a' has no key 'sets'; there are: ch",
        ),
        ("[variants.a]\nquick = true", "variant 'a' needs 'choice': the change, in words"),
        (
            "[variants.a]\nchoice = 'x'\nset = { bufer = 1 }",
            "variant 'a': the set-up has no 'bufer'; it has: options",
        ),
        (
            "[variants.a]\nchoice = 'x'\nevidence = 'me'",
            "no evidence is called 'me'; there are: paper, implied",
        ),
        (
            "[variants.a]\nchoice = 'x'\nwhere = 'no'",
            "variant 'a': no condition is called 'no'; there are: late",
        ),
        (
            "[variants.a]\nchoice = 'x'\nwhere = 'late'\ncc = 'reno'",
            "variant 'a': 'late' cannot be joined with cc",
        ),
        ("[readings.a]\ntitle = 'x'", "reading 'a' needs 'variants': the names of the variants"),
        ("[variant.a]\nchoice = 'x'", "what is variant"),
    ],
)
def test_a_mistake_is_named_with_its_place(text, wrong, tmp_path):
    with pytest.raises(ValueError, match=wrong):
        read(tmp_path, text)
