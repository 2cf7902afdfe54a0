"""Controllers written in Python."""

import decimal
import math
import re
import textwrap
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe import controller
from bentpipe.controller import load_controller

RENO = '''
import bentpipe as bp


class MyReno(bp.Controller):
    """Additive increase, halving."""

    def on_ack(self, flow, ack):
        if flow["phase"] == "recovery" or not flow["cwnd_limited"]:
            return
        segments = (ack["acked"] - ack["uncounted"]) / flow["mss"]
        if self.cwnd < self.ssthresh:
            self.cwnd += segments
        else:
            self.cwnd += segments / self.cwnd

    def on_congestion(self, flow, why):
        self.ssthresh = max(self.cwnd / 2, 2)
        self.cwnd = 1 if why == "timeout" else self.ssthresh


class Lazy(bp.Controller):
    def on_ack(self, flow, ack):
        pass


class Broken(bp.Controller):
    def on_ack(self, flow, ack):
        self.cwnd = flow["no such key"]

    def on_congestion(self, flow, why):
        pass


class Fixed(bp.Controller):
    def on_ack(self, flow, ack):
        self.cwnd = 5

    def on_congestion(self, flow, why):
        pass


reno = 5
'''
LINK = bp.Link(rate="2 Mbit/s", delay="100 ms", loss=bp.PacketError(0.002))


@pytest.fixture
def my(tmp_path):
    path = tmp_path / "my.py"
    path.write_text(RENO)
    return path


def test_it_controls_the_window(my):
    flow = bp.Flow(load_controller(f"{my}:Fixed"), path=["sat"], initial_window=5, delayed_ack=False)
    link = bp.Link(rate="2 Mbit/s", delay="100 ms")
    result = bp.run(bp.Scenario(links={"sat": link}, flows=[flow], duration="10 s")).json["flows"][0]
    assert result["cwnd_mean_segments"] == pytest.approx(5, rel=0.01)
    assert result["goodput_bps"] == pytest.approx(5 * 1448 * 8 / 0.206, rel=0.05)


def test_its_state_is_described(my):
    seen = {}

    class Spy(bp.Controller):
        def on_ack(self, flow, ack):
            seen.update(flow=flow, ack=ack)

        def on_congestion(self, flow, why):
            seen["why"] = why

    link = bp.Link(rate="2 Mbit/s", delay="100 ms", loss=bp.PacketError(0.05))
    bp.run(bp.Scenario(links={"s": link}, flows=[bp.Flow(Spy, path="s")], duration="20 s"))
    assert set(seen["flow"]) == set(bp.FlowState.__annotations__)
    assert set(seen["ack"]) == set(bp.AckReport.__annotations__)
    assert seen["why"] in ("loss", "timeout")


def test_the_page_has_every_key_of_its_state():
    text = (Path(__file__).parents[2] / "docs/own-controller.md").read_text(encoding="utf-8")
    for head, kind in (("key of `flow`", bp.FlowState), ("key of `ack`", bp.AckReport)):
        table = text.partition(f"| {head} |")[2].partition("\n\n")[0]
        keys = [key for row in table.splitlines() for key in re.findall(r"`(\w+)`", row.split("|")[1])]
        assert keys == [*dict.fromkeys(keys)] and set(keys) == set(kind.__annotations__)


def test_run_many_takes_it_too(my):
    mine = load_controller(f"{my}:MyReno")
    many = []
    for cc in ("reno", mine, "star"):
        flow = bp.Flow(cc, path=["sat"])
        many.append(bp.Scenario(links={"sat": LINK}, flows=[flow], duration="5 s"))
    counts = []
    assert [r.json["flows"][0]["cc"] for r in bp.run_many(many, progress=counts.append)] == [
        "reno",
        "MyReno",
        "star",
    ]
    assert counts[-1] == 3
    many[1].flows[0].cc = load_controller(f"{my}:Broken")
    with pytest.raises(bp.ControllerError, match="Broken.on_ack raised KeyError"):
        bp.run_many(many)


def test_a_key_that_is_nearly_right_is_named():
    def on_ack(self, flow, ack):
        self.cwnd += ack["acked"] / flow["rtt_min"]

    with pytest.raises(bp.ControllerError, match=r"KeyError: 'rtt_min' .* did you mean rtt_min_s.*\?$"):
        run_with(on_ack=on_ack)


def run_with(duration="5 s", **methods):
    """A run of a controller that does nothing, with these methods in place of its own."""
    mine = {"on_ack": lambda self, flow, ack: None, "on_congestion": lambda self, flow, why: None, **methods}
    flow = bp.Flow(type("Mine", (bp.Controller,), mine), path=["sat"], name="f", initial_window=10)
    link = bp.Link(rate="2 Mbit/s", delay="100 ms", loss=bp.PacketError(0.05))
    return bp.run(bp.Scenario(links={"sat": link}, flows=[flow], duration=duration))


def setting(name, value):
    return lambda self, *_: setattr(self, name, value)


@pytest.mark.parametrize("method", ["__init__", "on_ack", "on_congestion", "on_life", "backoff"])
def test_an_exception_names_its_method_and_the_line_that_it_came_from(method):
    def helper():
        int("x")  # the deepest line in this file

    def fail(*_):
        helper()

    with pytest.raises(bp.ControllerError) as caught:
        run_with("60 s", **{method: fail})
    line = helper.__code__.co_firstlineno + 1
    assert f"Mine.{method} raised ValueError: invalid literal" in str(caught.value)
    assert f"({__file__}, line {line}) at " in str(caught.value) and " s in flow f" in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_method_with_other_parameters_is_named_with_the_line_of_its_definition():
    def on_ack(self, flow):
        pass

    line = on_ack.__code__.co_firstlineno
    with pytest.raises(bp.ControllerError, match=rf"TypeError.*takes 2.*, line {line}\) at 0"):
        run_with(on_ack=on_ack)


def test_a_controller_without_a_window_is_named():
    with pytest.raises(
        bp.ControllerError, match="Mine.__init__ raised .*no attribute 'cwnd'.* at 0 s in flow f"
    ):
        run_with(__init__=lambda self, mss, initial_window: None)


def test_an_interrupt_in_a_controller_stays_an_interrupt():
    def on_ack(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_with(on_ack=on_ack)


NEVER = [math.nan, -math.inf, -1, -1e-9, "5", b"5", 5j, True, np.True_, [5], 10**400, 10**5000]


@pytest.mark.parametrize(
    ("name", "more"),
    [("cwnd", [math.inf, 1e300, None]), ("ssthresh", [None]), ("pacing_rate", [math.inf])],
)
def test_what_is_no_window_is_refused(name, more):
    for value in [*NEVER, *more]:
        with pytest.raises(bp.ControllerError) as caught:
            run_with(on_ack=setting(name, value))
        said = str(caught.value)
        assert re.match(rf"Mine\.{name} is .+ after on_ack at 0\.\d+ s in flow f; it must be ", said)
        if not (isinstance(value, int) and value > 10**50):
            assert f"{name} is {value!r} after" in said
        assert len(said) < 300


def test_an_infinite_threshold_and_no_pacing_are_legal():
    for name, value in (("ssthresh", math.inf), ("ssthresh", 1e300), ("pacing_rate", None)):
        assert run_with(on_ack=setting(name, value)).flows.equals(run_with().flows)


@pytest.mark.parametrize("value", [0, 0.5, 5, 5.0, np.float32(5), np.int64(5), decimal.Decimal(5)])
def test_numbers_of_any_kind_are_windows(value):
    def run(cwnd, rate):
        def on_ack(self, flow, ack):
            self.cwnd, self.ssthresh, self.pacing_rate = cwnd, math.inf, rate

        return run_with(on_ack=on_ack).flows

    assert run(value, np.float32(1e6)).equals(run(max(1.0, float(value)), 1e6))


@pytest.mark.parametrize("method", ["__init__", "on_congestion", "on_life"])
def test_a_window_is_looked_at_after_each_method(method):
    def spoil(self, *_):
        self.ssthresh = math.inf
        self.cwnd = math.nan

    with pytest.raises(bp.ControllerError, match=rf"Mine.cwnd is nan after {method} at "):
        run_with("60 s", **{method: spoil})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (5, r"backoff\(\) is 5 after"),
        ((math.nan, 5), r"backoff\(\)\[0\] is nan after"),
        ((5, -1), r"backoff\(\)\[1\] is -1 after"),
    ],
)
def test_what_a_controller_announces_is_looked_at(answer, said):
    with pytest.raises(bp.ControllerError, match=said):
        run_with("60 s", backoff=lambda *_: answer)


def test_a_method_that_would_not_run_is_refused():
    def generator(*_):
        yield

    async def coroutine(*_):
        pass

    async def both(*_):
        yield

    for lazy in (generator, coroutine, both):
        for method in ("on_ack", "on_congestion", "on_life", "on_undo", "backoff"):
            # When the controller is named, before the run.
            with pytest.raises(bp.ScenarioError, match=f"Mine: {method} has a yield or is an async def"):
                run_with(**{method: lazy})
            if method == "on_undo":
                continue  # needs a spurious timeout
            # When it is hidden until it is called.
            with pytest.raises(
                bp.ControllerError, match=rf"Mine\.{method} gave a .*, so its body did not run"
            ):
                run_with("60 s", **{method: lambda *given, lazy=lazy: lazy(*given)})


def example(text):
    space = {}
    exec(textwrap.dedent(text), space)
    return space


def test_the_examples_do_what_reno_does():
    """With many timeouts, after which slow start must go on although segments are still repaired."""
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    mine = re.search(r"```python\n(# mine\.py\n.*?)```", readme, re.S)[1]
    assert mine.count("0.9") == 1
    doc = re.search(r"    import bentpipe as bp\n.*?\n\n(?=Use the class)", controller.__doc__, re.S)[0]
    losses = [bp.PacketError(0.001), bp.Outage(every="40 s", length="2 s")]
    link = bp.Link(rate="4 Mbit/s", delay="250 ms", loss=losses)

    def goodput(cc, profile):
        def scenario(seed):
            flow = bp.Flow(cc, path=["sat"], profile=profile)
            return bp.Scenario(links={"sat": link}, flows=[flow], duration="300 s", seed=seed)

        flows = [run.json["flows"][0] for run in bp.run_many([scenario(seed) for seed in range(1, 9)])]
        assert sum(flow["timeouts"] for flow in flows) > 50
        return sum(flow["goodput_bps"] for flow in flows)

    for profile in ("paper", "modern"):
        reno = goodput("reno", profile)
        # README's takes back less where no queue builds; by half at each loss it is Reno.
        for same in (example(mine.replace("0.9", "0.5"))["Mine"], example(doc)["MyReno"]):
            assert goodput(same, profile) == pytest.approx(reno, rel=0.03)
        assert goodput(example(mine)["Mine"], profile) > 1.1 * reno


def lines_of(**methods):
    with pytest.raises(bp.ControllerError) as caught:
        run_with(**methods)
    assert "\n" not in str(caught.value) and len(caught.value.lines) <= 4
    return caught.value.lines


def test_the_lines_of_a_failure_say_what_would_be_right():
    def on_ack(self, flow):
        pass

    what, where, when, right = lines_of(on_ack=on_ack)
    assert what.startswith("Mine.on_ack raised TypeError: ") and "takes 2" in what
    assert where == f"{__file__}, line {on_ack.__code__.co_firstlineno}: def on_ack(self, flow):"
    assert when.endswith(" s of simulated time, in flow f") and right == "it is called as on_ack(flow, ack)"

    what, where, _, right = lines_of(on_ack=setting("cwnd", "ten"))
    assert what == "Mine.cwnd is 'ten' after on_ack" and "setattr" in where
    assert right == "it must be a number of segments from 0 to 2**40"

    def deep(*_):
        raise ValueError("two\nlines")

    assert lines_of(on_ack=deep)[0] == "Mine.on_ack raised ValueError: two lines"


def test_a_constructor_with_other_parameters_is_refused_before_the_run():
    def init(self):
        pass

    with pytest.raises(
        bp.ScenarioError, match=r"Mine: __init__ is called as __init__\(mss, initial_window\)"
    ):
        run_with(__init__=init)


def test_one_object_for_all_flows_is_refused():
    class Mine(bp.Controller):
        def on_ack(self, flow, ack):
            pass

        def on_congestion(self, flow, why):
            pass

    flow = bp.Flow(Mine(1448, 10), path=["sat"])
    with pytest.raises(bp.ScenarioError, match=r"flow\.0\.cc: give the class Mine"):
        bp.run(bp.Scenario(links={"sat": LINK}, flows=[flow], duration="1 s"))


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("cwdn", "cwnd"),
        ("cwd", "cwnd"),
        ("Cwnd", "cwnd"),
        ("ssthres", "ssthresh"),
        ("ssthersh", "ssthresh"),
        ("pacing_ratte", "pacing_rate"),
        ("pacingrate", "pacing_rate"),
    ],
)
def test_a_slip_in_an_attribute_is_a_warning(name, near):
    said = run_with(on_ack=setting(name, 5)).warnings
    assert said == [f"Mine.{name}: nothing reads this attribute; did you mean {near}?"]


@pytest.mark.parametrize(
    "name", ["rwnd", "cwnd2", "_cwnd", "last_cwnd", "cwnd_max", "w", "rate", "threshold"]
)
def test_attributes_of_ones_own_are_none(name):
    assert run_with(on_ack=setting(name, 5)).warnings == []


def test_a_slip_in_a_method_is_a_warning_once_for_all_flows():
    made = {
        "on_ack": lambda self, flow, ack: None,
        "on_congestion": lambda self, flow, why: None,
        "on_pathchange": lambda self, flow, change: None,
        "on_timer": lambda self: None,
    }
    flow = bp.Flow(type("Mine", (bp.Controller,), made), path=["sat"], count=3)
    run = bp.run(bp.Scenario(links={"sat": LINK}, flows=[flow], duration="2 s"))
    assert run.warnings == ["Mine.on_pathchange: nothing reads this method; did you mean on_path_change?"]


def test_on_the_command_line(my, scenario_file, cli):
    ran = cli("run", scenario_file, "--cc", f"{my}:MyReno")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert "MyReno" in ran.stdout
    compared = cli("compare", "--link", scenario_file, "--cc", f"reno,{my}:MyReno", "--seeds", 1)
    assert (compared.exit_code, compared.stderr) == (0, "")
    assert "MyReno" in compared.stdout and "Reno" in compared.stdout


def test_its_failure_is_a_few_lines(my, scenario_file, cli):
    ran = cli("run", scenario_file, "--cc", f"{my}:Broken")
    assert ran.exit_code == 1
    what, where, when, more = ran.stderr.splitlines()
    assert what == "bentpipe: Broken.on_ack raised KeyError: 'no such key'"
    line = 1 + RENO.splitlines().index('        self.cwnd = flow["no such key"]')
    assert where == f'  {my}, line {line}: self.cwnd = flow["no such key"]'
    assert re.fullmatch(r"  at 0\.\d+ s of simulated time, in flow Broken", when)
    assert more == "  set BENTPIPE_TRACEBACK=1 for the traceback"


def test_a_failure_among_others_is_one_line(my, scenario_file, cli):
    compared = cli("compare", "--link", scenario_file, "--cc", f"{my}:Broken", "--seeds", 1)
    assert (compared.exit_code, compared.stderr.count("\n")) == (1, 1)
    assert "Broken.on_ack raised KeyError" in compared.stderr and "in flow compared" in compared.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("my.py:Lazy", "does not define on_congestion"),
        ("my.py:MyRno", "did you mean MyReno"),
        ("my.py:reno", "is not a class"),
        ("none.py:MyReno", "no file"),
        ("syntax.py:X", "SyntaxError"),
        ("fails.py:X", "ZeroDivisionError"),
    ],
)
def test_what_is_no_controller(my, scenario_file, cli, name, said):
    (my.parent / "syntax.py").write_text("class X(:\n")
    (my.parent / "fails.py").write_text("1 / 0\n")
    ran = cli("run", scenario_file, "--cc", my.parent / name)
    assert ran.exit_code == 2
    assert ran.stderr.count("\n") == 1 and said in ran.stderr


def test_it_starts_with_the_initial_ssthresh_of_its_flow(my):
    flow = bp.Flow(load_controller(f"{my}:MyReno"), path=["sat"], initial_ssthresh=8, profile="paper")
    link = bp.Link(rate="2 Mbit/s", delay="100 ms", queue=bp.DropTail("1000 packets"))
    run = bp.run(
        bp.Scenario(links={"sat": link}, flows=[flow], duration="3 s", record=bp.Record(interval="1 s"))
    )
    # Four round trips to 8 segments, then one a round trip.
    assert run.trace["ssthresh"].to_list() == [8.0] * 4
    assert 12 < run.trace["cwnd"][-1] < 20


@pytest.fixture
def hears():
    """Makes a class with this method for hints, and the list of what that gets: instants and changes."""

    def made(method):
        heard = []

        class Listens(bp.Controller):
            def on_ack(self, flow, ack):
                self.cwnd = 5

            def on_congestion(self, flow, why):
                pass

        setattr(Listens, method, lambda self, flow, change: heard.append((flow["now_s"], change)))
        return Listens, heard

    return made


def test_a_hint_about_the_path_reaches_a_controller_that_asks_for_it(hears):
    listens, heard = hears("on_path_change")
    link = bp.Link(rate="2 Mbit/s", delay="100 ms", handover={"every": "2 s", "outage": "300 ms"})

    def hear(**options):
        heard.clear()
        flow = bp.Flow(listens, path=["sat"], **options)
        bp.run(bp.Scenario(links={"sat": link}, flows=[flow], duration="5 s"))
        return list(heard)

    assert hear() == [(2.0, {"ahead_s": 0.0, "dark_s": 0.3}), (4.0, {"ahead_s": 0.0, "dark_s": 0.3})]
    assert hear(hint_lead="500 ms")[0] == (1.5, {"ahead_s": 0.5, "dark_s": 0.3})
    assert hear(path_hints=False) == []


def test_a_hint_about_the_rate_reaches_a_controller_whose_flow_says_so(hears):
    listens, heard = hears("on_rate_change")
    link = bp.Link(rate=[["0 s", "8 Mbit/s"], ["2 s", "2 Mbit/s"]], delay="100 ms")
    for wanted in (None, True):
        flow = bp.Flow(listens, path=["sat"], rate_hints=wanted)
        bp.run(bp.Scenario(links={"sat": link}, flows=[flow], duration="3 s"))
        change = {"ahead_s": 0.0, "before": 1_000_000, "after": 250_000}
        assert heard == ([(2.0, change)] if wanted else [])


def test_a_hint_about_errors_reaches_a_controller_and_hswa(hears, tmp_path: Path) -> None:
    """p is a variable (HSWA-TCP, section III): 1e-7, 1e-2, 1e-7. A packet error rate counts by its effect."""
    listens, heard = hears("on_link_quality")
    line = tmp_path / "modem.csv"
    line.write_text("t_s,loss_rate\n0,1e-7\n2,1e-2\n4,1e-7\n")
    link = {"rate": "8 Mbit/s", "delay": "100 ms", "timeline": str(line)}
    flow = {"path": ["sat"], "mss": "1460 bytes", "header": "40 bytes"}

    def run(cc: object, loss: dict[str, object], **keys: object) -> bp.Result:
        table = {"duration": "6 s", "link": {"sat": link | loss}, "flow": [{"cc": cc, **flow, **keys}]}
        return bp.run({**table, "record": {"probes": True}})

    bits = {"loss": {"kind": "bit-error", "rate": 1e-7}}
    for wanted, loss, rates in (
        (None, bits, [1e-2, 1e-7]),
        (None, {}, [1 - 0.99 ** (1 / 12_000), 1 - (1 - 1e-7) ** (1 / 12_000)]),
        (False, bits, []),
    ):
        heard.clear()
        run(listens, loss, **({} if wanted is None else {"quality_hints": wanted}))
        assert [at for at, _ in heard] == ([2.0, 4.0] if rates else [])
        assert [change["bit_error_rate"] for _, change in heard] == pytest.approx(rates, rel=1e-6)
    probes = run("hswa", bits).probes.filter(pl.col("probe") == "s_segments").sort("t_s")
    values = probes["value"].to_list()
    steps = [value for i, value in enumerate(values) if i == 0 or value != values[i - 1]]
    assert steps == pytest.approx([70.0, 20.0, 70.0])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("mine:Own", "; did you mean {}/mine.py:Own?"),
        ("mien.py:Own", "; did you mean {}/mine.py:Own?"),
        ("other.py:Own", ""),
    ],
)
def test_a_missing_file_is_answered_with_a_near_one(tmp_path: Path, given: str, said: str) -> None:
    (tmp_path / "mine.py").touch()
    with pytest.raises(bp.ScenarioError) as refused:
        load_controller(f"{tmp_path}/{given}")
    file = given.partition(":")[0]
    assert str(refused.value).endswith(f"there is no file '{tmp_path}/{file}'{said.format(tmp_path)}")


ENDLESS = """
import pdb  # loaded, as by many libraries; it traces nothing

import bentpipe as bp

class Endless(bp.Controller):
    call_limit_s = 0.5

    def on_ack(self, flow, ack):
        if flow["now_s"] > 2:
            while True:
                pass
        self.cwnd = 20

    def on_congestion(self, flow, why):
        pass
"""


@pytest.mark.parametrize("verb", [["run"], ["compare", "--seeds", "1", "--link"]])
def test_a_controller_that_does_not_come_back_ends_with_a_message(tmp_path, scenario_file, cli, verb):
    (tmp_path / "mine.py").write_text(ENDLESS)
    began = time.monotonic()
    done = cli(*verb, scenario_file, "--cc", f"{tmp_path / 'mine.py'}:Endless")
    assert done.exit_code == 1 and time.monotonic() - began < 20
    said = " ".join(done.stderr.split())
    assert "Endless.on_ack" in said and "did not come back within 0.5 s" in said, said
    assert "mine.py" in said and bp.Controller.call_limit_s == 10


def test_slow_calls_in_a_row_are_no_call_that_does_not_come_back(scenario_file):
    class Slow(bp.Controller):
        call_limit_s = 0.3

        def on_ack(self, flow, ack):
            self.cwnd = 2
            time.sleep(0.02)

        def on_congestion(self, flow, why):
            pass

    table = bp.Scenario.load(scenario_file, {"duration": "10 s"})
    table.flows[0].cc = Slow
    began = time.monotonic()
    assert bp.run(table).json["flows"][0]["delivered_bytes"] > 0
    assert time.monotonic() - began > 0.6


@pytest.mark.parametrize(
    "words",
    [
        ["run", "geo", "--cc", "javascript:Mine"],
        ["run", "page.toml"],
        ["run", "relay.toml"],
        ["compare", "--link", "geo", "--cc", "reno,javascript:Mine"],
        ["sweep", "page.toml", "--seeds", "2", "--out", "runs"],
    ],
)
def test_a_controller_in_javascript_is_refused_with_what_to_do(cli, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    geo = (Path(__file__).parents[2] / "scenarios" / "geo.toml").read_text(encoding="utf-8")
    (tmp_path / "page.toml").write_text(
        geo.replace('cc = "reno"', 'cc = "javascript:Mine"'), encoding="utf-8"
    )
    links = "".join(f'[link.{name}]\nrate = "5 Mbit/s"\ndelay = "5 ms"\n' for name in ("a", "b"))
    relay = 'relay = { at = "gateway", cc = "javascript:Mine", buffer = "4 MB" }'
    text = f'duration = "5 s"\n{links}[[flow]]\ncc = "reno"\npath = ["a", "b"]\n{relay}\n'
    (tmp_path / "relay.toml").write_text(text, encoding="utf-8")
    done = cli(*words)
    assert done.exit_code != 0
    assert done.output.count("JavaScript") == 1
    for said in ("Mine is a controller written in JavaScript", "docs/own-controller.md", "FILE.py:Mine"):
        assert said in " ".join(done.output.split())
