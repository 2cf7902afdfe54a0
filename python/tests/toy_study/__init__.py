"""Studies that take next to no time, and the command line with these in place of the real ones."""

from dataclasses import replace

from bentpipe.studies.study import Case, Loaded, Study, StudyPlan
from toy_study.measure import broken, counted, measure

#: Runs of a study; more than two batches, the last of them not full.
RUNS = 75


def plan(mode: str) -> StudyPlan:
    return StudyPlan(mode, [case(i) for i in range(RUNS)], {"note": "Seeds 1 to 3 <b>."})


def case(i: int) -> Case:
    scenario = {
        "duration": "3 s",
        "seed": 1 + i % 3,
        "link": {
            "sat": {"rate": "2 Mbit/s", "delay": "50 ms", "loss": {"kind": "packet-error", "rate": 0.01}}
        },
        "flow": [{"cc": ("reno", "star")[i % 2], "path": ["sat"]}],
        "record": {"interval": "10 ms"},
    }
    keys = {"cc": scenario["flow"][0]["cc"], "number": i, "seed": scenario["seed"]}
    return Case(keys, scenario, keep_trace=i in (3, 40, 41))


STUDY = Study(
    name="toy",
    title="A toy & nothing <i>more</i>",
    citation='Nobody: "Nothing".',
    summary="Runs <b>short</b> flows.",
    plan=plan,
    measure=measure,
    report=Loaded("toy_study.report", "build"),
)
CHOICES = Study(
    name="choices",
    title="A toy with choices",
    citation='Nobody: "Nothing".',
    summary="Runs flows that are told their rate.",
    plan=Loaded("toy_study.choices", "DESIGN.plan"),
    measure=counted,
    report=Loaded("toy_study.choices", "build"),
)
STUDIES = {
    "choices": CHOICES,
    "toy": STUDY,
    "other": replace(STUDY, name="other", title="Another"),
    "broken": replace(STUDY, name="broken", title="Broken", measure=broken),
}


def main() -> None:
    """`bentpipe`, which knows the studies that TOY_STUDIES names."""
    import os

    from bentpipe import studies
    from bentpipe.cli import application as cli

    names = os.environ.get("TOY_STUDIES", "toy").split()
    studies._all = lambda: {name: STUDIES[name] for name in names}
    cli.main()
