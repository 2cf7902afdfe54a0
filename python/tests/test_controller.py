"""Controllers written in Python."""

import pytest

import bentpipe as bp
from bentpipe.controller import load_controller

RENO = '''
import bentpipe as bp


class MyReno(bp.Controller):
    """Additive increase, halving."""

    def on_ack(self, flow, ack):
        if flow["phase"] != "open" or not flow["cwnd_limited"]:
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


def goodput(cc, seed):
    flow = bp.Flow(cc, path=["sat"], name="f")
    scenario = bp.Scenario(links={"sat": LINK}, flows=[flow], duration="120 s", seed=seed)
    return bp.run(scenario).json["flows"][0]["goodput_bps"]


def test_reno_in_python_is_reno(my):
    mine = load_controller(f"{my}:MyReno")
    for seed in (1, 2, 3):
        assert goodput(mine, seed) == pytest.approx(goodput("reno", seed), rel=0.03)


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


def test_its_exceptions_reach_the_caller(my):
    flow = bp.Flow(load_controller(f"{my}:Broken"), path=["sat"])
    with pytest.raises(KeyError, match="no such key"):
        bp.run(bp.Scenario(links={"sat": LINK}, flows=[flow], duration="5 s"))


def test_on_the_command_line(my, scenario_file, cli):
    ran = cli("run", scenario_file, "--cc", f"{my}:MyReno")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert "MyReno" in ran.stdout
    compared = cli("compare", "--link", scenario_file, "--cc", f"reno,{my}:MyReno", "--seeds", 1)
    assert (compared.exit_code, compared.stderr) == (0, "")
    assert "MyReno" in compared.stdout and "Reno" in compared.stdout


def test_its_failure_is_one_line(my, scenario_file, cli):
    ran = cli("run", scenario_file, "--cc", f"{my}:Broken")
    assert ran.exit_code == 1
    assert ran.stderr.count("\n") == 1 and "no such key" in ran.stderr and "Traceback" not in ran.stderr


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
