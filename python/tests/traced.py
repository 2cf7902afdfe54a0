"""Files of other programs, read as time lines."""

import pytest

import bentpipe as bp


@pytest.fixture
def trace(tmp_path):
    """The time line, as lists, of a file with this text, or of a directory with these files."""

    def read(given, format, name="a.txt", **options):
        path = tmp_path / name
        if isinstance(given, dict):
            path = tmp_path / "17"
            path.mkdir(exist_ok=True)
            for file, text in given.items():
                (path / file).write_text(text)
        else:
            path.write_bytes(given if isinstance(given, bytes) else given.encode())
        frame = bp.timeline.read_trace(path, format, **options)
        bp.timeline.check(frame)
        return frame.to_dict(as_series=False)

    return read


def wrong(trace, said, *given, **options):
    """Reading this is refused by one line."""
    with pytest.raises(bp.ScenarioError, match=said) as raised:
        trace(*given, **options)
    assert "\n" not in str(raised.value)
    return str(raised.value)
