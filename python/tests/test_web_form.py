"""The form of the page that simulates: every key, traffic, time lines, and files of the reader."""

from __future__ import annotations

import io
import json
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from test_web_play import saved
from web_page import after, needs_browser, needs_page, opened, text_of, until, written

import bentpipe as bp
from bentpipe import _core
from bentpipe.registry import SCENARIOS

pytestmark = [needs_page, needs_browser]

SCHEMA: dict[str, Any] = json.loads(_core.schema())
#: As many scenarios have every kind of everything, and a law of sizes of every kind in some traffic.
SCENARIOS_OF_ALL_KINDS = 24


def followed(node: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """What a reference leads to, and its name."""
    if "$ref" not in node:
        return "", node
    name = node["$ref"].rsplit("/", 1)[1]
    inner, found = followed(SCHEMA["$defs"][name])
    return inner or name, {**found, **{key: value for key, value in node.items() if key != "$ref"}}


def alternatives(node: dict[str, Any], name: str = "") -> list[tuple[str, dict[str, Any]]]:
    """All that a value may be, each with the name of its definition."""
    inner, found = followed(node)
    name = inner or name
    some = found.get("anyOf") or found.get("oneOf")
    if some is None:
        return [(name, found)]
    return [one for other in some if other.get("type") != "null" for one in alternatives(other, name)]


def kind(node: dict[str, Any]) -> str:
    return str(node.get("properties", {}).get("kind", {}).get("const", ""))


def is_table(node: dict[str, Any]) -> bool:
    return node.get("type") == "object"


def items(node: dict[str, Any]) -> dict[str, Any] | None:
    """The tables of a list of tables."""
    is_list = "array" in (node.get("type") or "")
    return node["items"] if is_list and is_table(alternatives(node["items"])[0][1]) else None


class Walk:
    """A scenario with every key, the n-th of all alternatives, and what its form must have."""

    def __init__(self, n: int) -> None:
        self.n = n
        #: Dotted keys that need a field.
        self.keys: set[str] = set()
        #: The definitions, kinds and keys that this scenario has.
        self.seen: set[tuple[str, str, str]] = set()
        self.tree: dict[str, Any] = self._table("", "Scenario", SCHEMA)

    def _table(self, at: str, name: str, node: dict[str, Any]) -> dict[str, Any]:
        made = {}
        for key, value in node["properties"].items():
            self.seen.add((name, kind(node), key))
            if key == "kind":
                made[key] = kind(node)
                continue
            made[key] = self._value(f"{at}.{key}" if at else key, name, value)
        return made

    def _value(self, at: str, name: str, node: dict[str, Any]) -> Any:
        some = alternatives(node, name)
        self.keys.add(at)
        if any("x-names" in one for _, one in some):
            options = some[1][1]["properties"]
            self.keys |= {f"{at}.{key}" for key in options if key != "name"}
            self.seen |= {("Cc", "", key) for key in options}
            return "reno"
        # A pair of alternatives is not bound to the kinds around it.
        of, chosen = some[(self.n // 8 if len(some) == 2 else self.n) % len(some)]
        if is_table(chosen):
            if "properties" not in chosen:
                inner, each = alternatives(chosen["additionalProperties"])[0]
                return {"one": self._table(f"{at}.one", inner, each)}
            return self._table(at, of, chosen)
        each_of = items(chosen)
        if each_of is not None:
            return [self._item(f"{at}.0", each_of)]
        return self._leaf(chosen, node)

    def _item(self, at: str, node: dict[str, Any]) -> Any:
        some = alternatives(node)
        name, chosen = some[self.n % len(some)]
        return self._table(at, name, chosen)

    @staticmethod
    def _leaf(chosen: dict[str, Any], node: dict[str, Any]) -> Any:
        for value in (*chosen.get("examples", []), chosen.get("default"), chosen.get("const")):
            if value is not None:
                return value
        if "enum" in chosen:
            return chosen["enum"][0]
        kinds = chosen["type"] if isinstance(chosen["type"], list) else [chosen["type"]]
        values = {"string": "some", "boolean": True, "array": [], "integer": 1, "number": 0.5}
        return next(values[one] for one in kinds if one in values)


def every_key() -> set[tuple[str, str, str]]:
    """The definitions, kinds and keys of the schema."""
    found = {("Scenario", "", key) for key in SCHEMA["properties"]}
    for name in SCHEMA["$defs"]:
        for inner, node in alternatives({"$ref": f"#/$defs/{name}"}):
            found |= {(inner, kind(node), key) for key in node.get("properties", {})}
    return found


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def unfolded(window: browser.Browser) -> None:
    """Opens the form with all that it folds."""
    window.run("""(async () => {
      document.getElementById("keys-group").open = true;
      const closed = () => [...document.querySelectorAll("#keys details:not([open])")];
      await new Promise(done => setTimeout(done, 50));
      while (closed().length) {
        closed().forEach(part => { part.open = true; });
        await new Promise(done => setTimeout(done, 20));
      }
    })()""")


def ready(window: browser.Browser) -> None:
    """Waits for the schema, by which the form is made."""
    until(window, "document.querySelector('[data-at^=\"timeline\"] option[value=drawn]') !== null")


def field(key: str) -> str:
    return f"document.querySelector('#keys :is(input, select)[data-key={json.dumps(key)}]')"


def entered(key: str, value: str) -> str:
    """Enters a value into the field of a key."""
    return f"""(() => {{
      const field = {field(key)};
      field.value = {json.dumps(value)};
      if (field.tagName === "SELECT" && field.selectedIndex < 0)
        field.selectedIndex = [...field.options].findIndex(one => one.textContent === {json.dumps(value)});
      field.dispatchEvent(new Event("change"));
    }})()"""


def pressed(words: str) -> str:
    """Presses the first button of the form with these words."""
    buttons = "[...document.querySelectorAll('#keys button')]"
    return f"{buttons}.find(one => one.textContent === {json.dumps(words)}).click()"


def as_file(tmp_path: Path, text: str, changes: dict[str, str] | None = None) -> bp.Scenario:
    """The scenario of a text, as the command line reads it with `--set`."""
    for line in SCENARIOS.glob("*.csv"):
        shutil.copy(line, tmp_path)
    place = tmp_path / "page.toml"
    place.write_text(text, "utf-8")
    return bp.Scenario.load(place, {key: given_value(value) for key, value in (changes or {}).items()})


def given_value(text: str) -> Any:
    """A value as `--set` takes it: TOML, or else a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def given(window: browser.Browser, files: dict[str, str], link: str = "") -> None:
    """Drops files on the page, or on the controls of a link, and waits for the run."""
    target = f"document.querySelector('[data-link={link}]')" if link else "document.body"
    window.run(f"""(() => {{
      const dropped = new DataTransfer();
      for (const [name, text] of Object.entries({json.dumps(files)}))
        dropped.items.add(new File([text], name));
      const event = new DragEvent("drop", {{ bubbles: true, cancelable: true, dataTransfer: dropped }});
      {target}.dispatchEvent(event);
    }})()""")


def packets(window: browser.Browser) -> int:
    return int(text_of(window, "state").split()[0].replace(",", ""))


class TestForm:
    """The section with all keys."""

    def test_every_key_of_the_schema_has_a_field(self, window: browser.Browser) -> None:
        opened(window, "#scenario=geo&duration=1+s")
        ready(window)
        missing: set[str] = set()
        seen: set[tuple[str, str, str]] = set()
        for n in range(SCENARIOS_OF_ALL_KINDS):
            walk = Walk(n)
            walk.tree["title"] = f"number {n}"
            seen |= walk.seen
            written(window, "text", "\n".join(f"{key} = {toml(one)}" for key, one in walk.tree.items()))
            unfolded(window)
            until(window, f"{field('title')}?.value === 'number {n}'")
            unfolded(window)
            shown = window.run(
                "[...document.querySelectorAll('#keys [data-key]')].map(one => one.dataset.key)"
            )
            missing |= walk.keys - set(shown)
        assert missing == set()
        assert every_key() - seen == set()
        assert window.errors == []

    @pytest.mark.parametrize(
        ("name", "key", "value"),
        [
            ("geo", "duration", "20 s"),
            ("geo", "title", "true or not"),
            ("geo", "link.geo.reverse.rate", "1 Mbit/s"),
            ("geo", "link.geo.queue.limit", "0.5 bdp"),
            ("leo", "link.leo.handover.in_flight", "delivered"),
            ("leo", "link.leo.reverse.queue.limit", "30 packets"),
            ("geo-star", "flow.0.initial_window", "4"),
            ("geo-star", "flow.0.dsack", "false"),
            ("geo", "flow.0.cc.beta", "0.6"),
            ("geo", "flow.0.ecn", "dctcp"),
            ("geo", "record.interval", "1 s"),
            ("leo-handover", "link.leo.nominal.delay", "30 ms"),
        ],
    )
    def test_an_edit_is_that_of_the_command_line(
        self, window: browser.Browser, tmp_path: Path, name: str, key: str, value: str
    ) -> None:
        opened(window, f"#scenario={name}")
        ready(window)
        before = text_of(window, "text")
        unfolded(window)
        if key.startswith("record"):
            after(window, pressed("Add record"))
        if key.endswith("beta"):
            after(window, entered("flow.0.cc", "cubic"))
        more = {"flow.0.cc": "cubic"} if key.endswith("beta") else {}
        if ".queue.limit" in key and not window.run(f"!!{field(key)}"):
            after(window, entered(key.removesuffix(".limit"), "drop-tail"))
            more = {key.removesuffix(".limit"): '{ kind = "drop-tail" }'}
        unfolded(window)
        after(window, entered(key, value))
        assert text_of(window, "wrong") == ""
        expected = as_file(tmp_path, before, {**more, key: value})
        assert as_file(tmp_path, text_of(window, "text")) == expected
        comments = re.compile(r"^#.*", re.MULTILINE)
        assert comments.findall(text_of(window, "text")) == comments.findall(before)
        assert f"{key}={value}" in text_of(window, "command") or key.startswith("title")
        opened(window, window.run("location.hash"))
        assert as_file(tmp_path, text_of(window, "text")) == expected

    def test_an_empty_field_removes_its_key(self, window: browser.Browser, tmp_path: Path) -> None:
        opened(window, "#scenario=leo")
        ready(window)
        unfolded(window)
        after(window, entered("flow.0.extra_delay", ""))
        after(window, entered("link.leo.queue", ""))
        after(window, entered("seed", "7"))
        loaded = tomllib.loads((SCENARIOS / "leo.toml").read_text("utf-8"))
        del loaded["flow"][0]["extra_delay"], loaded["link"]["leo"]["queue"]
        assert tomllib.loads(text_of(window, "text")) == {**loaded, "seed": 7}
        assert text_of(window, "command") == "bentpipe run leo.toml \\\n    --set 'seed=7'"
        opened(window, window.run("location.hash"))
        assert tomllib.loads(text_of(window, "text")) == {**loaded, "seed": 7}

    def test_removals_and_changes_in_one_breath_are_all_kept(self, window: browser.Browser) -> None:
        opened(window, "#scenario=leo")
        ready(window)
        unfolded(window)
        steps = [
            ("flow.0.extra_delay", ""),
            ("seed", "7"),
            ("link.leo.handover.in_flight", ""),
            ("duration", "9 s"),
        ]
        window.run(";".join(entered(key, value) for key, value in steps))
        until(window, "document.getElementById('text').value.includes('9 s')")
        tree = tomllib.loads(text_of(window, "text"))
        assert (tree["seed"], tree["duration"], tree["link"]["leo"]["handover"]) == (7, "9 s", {})
        assert "extra_delay" not in tree["flow"][0]
        after(window, entered("seed", "8"))
        again = tomllib.loads(text_of(window, "text"))
        assert again == {**tree, "seed": 8}

    def test_a_mistake_is_said_beside_its_field(self, window: browser.Browser) -> None:
        opened(window)
        ready(window)
        unfolded(window)
        window.run(entered("link.geo.rate", "5 Mbits"))
        until(window, "!document.getElementById('wrong').hidden")
        said = window.run(f"{field('link.geo.rate')}.parentElement.querySelector('.bad').textContent")
        assert said in text_of(window, "wrong") and "Mbit/s" in said
        assert window.run(f"{field('link.geo.rate')}.hasAttribute('aria-invalid')")
        after(window, entered("link.geo.rate", "5 Mbit/s"))
        assert not window.run(f"{field('link.geo.rate')}.hasAttribute('aria-invalid')")

    @pytest.mark.parametrize("width", [1280, 768, 390])
    @pytest.mark.parametrize("dark", [False, True])
    def test_it_is_closed_and_fits(self, window: browser.Browser, width: int, *, dark: bool) -> None:
        opened(window, "#scenario=leo", width, dark=dark)
        ready(window)
        assert not window.run("document.getElementById('keys-group').open")
        window.run("document.querySelectorAll('.group').forEach(part => { part.open = true; })")
        unfolded(window)
        assert (window.overflowing(), window.errors, window.requests) == ([], [], [])

    def test_a_word_leaves_the_keys_that_have_it(self, window: browser.Browser) -> None:
        opened(window)
        ready(window)
        window.run("document.getElementById('keys-group').open = true")
        until(window, "document.querySelector('#keys details') !== null")
        left = """[...document.querySelectorAll("#keys .key:not(.key .key)")]
          .filter(one => one.checkVisibility())
          .map(one => one.querySelector("[data-key]").dataset.key)"""
        written(window, "key-search", "min_rto")
        assert window.run(left) == ["flow.0.min_rto"]
        written(window, "key-search", "codel")
        assert set(window.run(left)) == {"link.geo.queue", "link.geo.reverse.queue"}
        written(window, "key-search", "")
        assert len(window.run(left)) > 100

    def test_every_field_has_a_name(self, window: browser.Browser) -> None:
        opened(window, "#scenario=leo")
        ready(window)
        unfolded(window)
        nameless = """[...document.querySelectorAll("#controls :is(input, select)")]
          .filter(one => !one.labels?.length && !one.ariaLabel && one.type !== "radio")
          .map(one => one.outerHTML)"""
        assert window.run(nameless) == []


class TestFlows:
    """Traffic and the number of flows."""

    KINDS = [one["properties"]["kind"]["const"] for one in SCHEMA["$defs"]["Traffic"]["oneOf"]]

    @pytest.mark.parametrize("chosen", KINDS)
    def test_each_kind_of_traffic_runs_when_it_is_chosen(self, window: browser.Browser, chosen: str) -> None:
        opened(window, "#scenario=geo&duration=5+s")
        ready(window)
        traffic = "document.querySelector('#flows [data-key=\"flow.0.traffic\"]')"
        window.run(f"""(() => {{
          const field = {traffic};
          field.selectedIndex = [...field.options].findIndex(one => one.textContent === {json.dumps(chosen)});
          field.dispatchEvent(new Event("change"));
        }})()""")
        until(window, f"document.getElementById('text').value.includes('kind = {json.dumps(chosen)}')")
        assert text_of(window, "wrong") == ""
        flow = tomllib.loads(text_of(window, "text"))["flow"][0]
        assert flow["traffic"]["kind"] == chosen
        assert ("cc" in flow) is (chosen not in ("cbr", "voice"))
        assert window.run(f"{traffic}.selectedOptions[0].textContent") == chosen

    def test_twelve_flows_are_the_most(self, window: browser.Browser) -> None:
        opened(window, "#scenario=geo&duration=5+s")
        for _ in range(11):
            after(window, "document.getElementById('add').click()")
        flows = tomllib.loads(text_of(window, "text"))["flow"]
        assert len(flows) == len({flow.get("name", flow["cc"]) for flow in flows}) == 12
        assert window.run("document.querySelectorAll('#summary tbody')[0].rows.length") >= 12
        window.run("document.getElementById('add').click()")
        assert "12 flows" in text_of(window, "add-said")
        assert len(tomllib.loads(text_of(window, "text"))["flow"]) == 12

    def test_a_link_and_a_station_are_added_by_name(self, window: browser.Browser, tmp_path: Path) -> None:
        opened(window)
        ready(window)
        unfolded(window)
        for what, name in (("link", "second"), ("station", "here")):
            label = json.dumps(f"Name of another {what}")
            window.run(f"document.querySelector('#keys [aria-label={label}]').value = '{name}'")
            after(window, pressed(f"Add a {what}"))
        tree = tomllib.loads(text_of(window, "text"))
        assert set(tree["link"]) == {"geo", "second"} and set(tree["station"]) == {"here"}
        assert text_of(window, "wrong") == ""
        assert as_file(tmp_path, text_of(window, "text"))


LINE = "# bentpipe timeline 1\nt_s,rate_bps,delay_s\n0,5e6,0.1\n7,2e6,0.3\n15,8e6,0.2\n"


class TestFiles:
    """Time lines and files of the reader."""

    def test_a_dropped_time_line_gives_the_bits_of_the_command_line(
        self, window: browser.Browser, tmp_path: Path
    ) -> None:
        record = "&record=%7B+interval+%3D+%22500+ms%22%2C+links+%3D+true+%7D"
        opened(window, f"#scenario=geo-star&duration=30+s{record}")
        ready(window)
        given(window, {"mine.csv": LINE})
        until(window, "document.getElementById('text').value.includes('mine.csv')")
        assert text_of(window, "wrong") == ""
        (tmp_path / "mine.csv").write_text(LINE, "utf-8")
        run = bp.run(as_file(tmp_path, text_of(window, "text")))
        assert packets(window) == run.json["packets"]
        # A thread that begins later has the file, too.
        window.run("document.getElementById('save').open = true")
        for button, frame in (("save-trace", run.trace), ("save-link-trace", run.link_trace)):
            read = pl.read_csv(io.BytesIO(saved(window, button)[1]), schema_overrides=frame.schema)
            assert frame.height > 50
            assert_frame_equal(read, frame, check_exact=True)
        assert "does not hold your file mine.csv" in text_of(window, "only-files")
        assert "mine.csv" in text_of(window, "files-command")
        assert "5e6" not in window.run("location.href")
        assert window.requests == []
        chosen = "document.querySelector('[data-at^=timeline]').selectedOptions[0].textContent"
        assert window.run(chosen) == "mine.csv"
        opened(window, "#scenario=geo")
        assert window.run("document.getElementById('only-files').hidden")

    def test_time_lines_are_chosen_and_left(self, window: browser.Browser, tmp_path: Path) -> None:
        opened(window, "#scenario=geo&duration=20+s")
        ready(window)

        def choose(value: str) -> str:
            return f"""(() => {{
              const field = document.querySelector('[data-at^=timeline]');
              field.value = {json.dumps(value)};
              field.dispatchEvent(new Event("change"));
            }})()"""

        after(window, choose("f leo.csv"))
        line = bp.Scenario.load(SCENARIOS / "geo.toml", {"link.geo.timeline": "leo.csv", "duration": "20 s"})
        assert packets(window) == bp.run(line).json["packets"]
        after(window, choose("drawn"))
        drawn = bp.Scenario.load("geo", {"link.geo.timeline.generator": "starlink", "duration": "20 s"})
        assert packets(window) == bp.run(drawn).json["packets"]
        assert window.run("document.querySelector('#links [data-key=\"link.geo.timeline.share\"]') !== null")
        after(window, choose(""))
        assert "timeline" not in tomllib.loads(text_of(window, "text"))["link"]["geo"]

    def test_mahimahi_and_other_files(self, window: browser.Browser) -> None:
        opened(window, "#scenario=geo&duration=5+s")
        ready(window)
        given(window, {"cell.trace": "1\n2\n5\n"}, "geo")
        until(window, "document.getElementById('text').value.includes('opportunities = \"cell.trace\"')")
        assert text_of(window, "wrong") == ""
        for name, content, said in (
            ("line.parquet", "PAR1", "Parquet is read by the Python package"),
            ("line.json", '{"a": 1}', "column t_s"),
        ):
            given(window, {name: content})
            until(window, f"document.getElementById('dropped').textContent.includes({json.dumps(said)})")
            assert name not in text_of(window, "text")

    def test_a_file_with_the_name_of_a_shipped_one_leaves_that_alone(self, window: browser.Browser) -> None:
        opened(window, "#scenario=geo&duration=5+s")
        ready(window)
        given(window, {"leo.csv": LINE})
        until(window, "document.getElementById('text').value.includes('my-leo.csv')")
        assert text_of(window, "wrong") == ""

    def test_a_dropped_scenario_opens_with_the_file_that_comes_with_it(
        self, window: browser.Browser, tmp_path: Path
    ) -> None:
        text = (
            (SCENARIOS / "geo.toml")
            .read_text("utf-8")
            .replace('rate = "10 Mbit/s"', 'rate = "10 Mbit/s"\ntimeline = "beside.csv"')
        )
        assert "beside.csv" in text
        opened(window, "#scenario=leo")
        ready(window)
        given(window, {"exercise.toml": text, "beside.csv": LINE})
        until(window, "document.getElementById('command').textContent.includes('exercise.toml')")
        until(window, "document.getElementById('text').value.includes('beside.csv')")
        assert text_of(window, "wrong") == ""
        (tmp_path / "exercise.toml").write_text(text, "utf-8")
        (tmp_path / "beside.csv").write_text(LINE, "utf-8")
        assert packets(window) == bp.run(tmp_path / "exercise.toml").json["packets"]


@pytest.fixture(autouse=True)
def a_page_of_its_own(window: browser.Browser) -> Iterator[None]:
    """What a test leaves is not that of the next."""
    yield
    window.open("about:blank")
