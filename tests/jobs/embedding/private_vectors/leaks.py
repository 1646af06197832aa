"""Looking for what must not be left anywhere."""


def left(folder, places, planted):
    """Files that hold any of what was planted."""
    files = [path for place in places for path in (folder / place).rglob("*") if path.is_file()]
    assert len(files) > 5
    return [str(path) for path in files if any(secret in path.read_bytes() for secret in planted)]
