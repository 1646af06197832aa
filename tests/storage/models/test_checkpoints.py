import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

import pytest

from tiltmeter.storage.models import checkpoints
from tiltmeter.storage.models.checkpoints import Checkpoint, CheckpointError
from tiltmeter.storage.store.identity import digest

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = "model.safetensors"
NEEDED = ["config.json", WEIGHTS, "tokenizer_config.json", "vocab.txt"]


def saved(folder, *more):
    """Files called like those of a model, which are not looked into further than for JSON."""
    folder.mkdir(parents=True)
    for name in (*NEEDED, *more):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("{}")
    return folder


@pytest.fixture
def bert(tmp_path):
    return saved(tmp_path / "bert")


def find_checkpoint(name):
    return checkpoints.find_checkpoint(str(name), None, "embedding.model")


@pytest.mark.parametrize("weights", [WEIGHTS, "pytorch_model.bin"])
def test_a_folder_is_the_digest_of_its_files(bert, weights) -> None:
    """Pickled weights count where there are no others."""
    (bert / WEIGHTS).rename(bert / weights)
    names = [weights if name == WEIGHTS else name for name in NEEDED]
    contents = {name: hashlib.blake2b((bert / name).read_bytes(), digest_size=16).hexdigest() for name in names}
    assert find_checkpoint(bert) == Checkpoint(str(bert), digest(contents))


def test_the_place_of_a_folder_does_not_matter(bert, tmp_path, monkeypatch) -> None:
    shutil.copytree(bert, tmp_path / "home" / "copy")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    version = find_checkpoint(bert).version
    assert find_checkpoint("bert") == (str(bert), version)
    assert find_checkpoint("~/copy") == (str(tmp_path / "home" / "copy"), version)


def test_files_that_are_not_loaded_do_not_matter(bert) -> None:
    version = find_checkpoint(bert).version
    for name in ("README.md", "tf_model.h5", "optimizer.pt", "pytorch_model.bin", "adapter_model.safetensors"):
        (bert / name).write_text("other")
    assert find_checkpoint(bert).version == version


def test_folders_without_a_model_are_refused(bert) -> None:
    (bert / WEIGHTS).rename(bert / "weights")
    with pytest.raises(CheckpointError, match=r"holds no weights \(model\*\.safetensors or pytorch_model\*\.bin\)"):
        find_checkpoint(bert)
    (bert / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"embedding\.model=.*/bert: .* holds no config\.json; set embedding\.m"):
        find_checkpoint(bert)


@pytest.mark.parametrize("name", ["/no/such/folder", "./bert", "a/b/c", "a name"])
def test_what_is_neither_a_folder_nor_a_name_is_refused(name) -> None:
    message = rf"{name}: there is no such folder, and no model on the hub can be called"
    with pytest.raises(CheckpointError, match=message):
        find_checkpoint(name)


FOUND = """
import json, sys
from tiltmeter.storage.models.checkpoints import CheckpointError, find_checkpoint
try:
    print(json.dumps(find_checkpoint(*json.loads(sys.argv[1]))))
except CheckpointError as error:
    print(json.dumps(str(error)))
"""


class Hub(BaseHTTPRequestHandler):
    """What the hub answers for the repositories in ``repositories``, each with one commit."""

    repositories: Path
    asked: ClassVar[list[str]] = []
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.asked.append(self.path)
        kind, *rest = urlsplit(self.path).path.strip("/").split("/")
        if kind == "api":
            name, question = "/".join(rest[1:3]), rest[3]
            files = [path for path in (self.repositories / name).rglob("*") if path.is_file()]
            sizes = {str(path.relative_to(self.repositories / name)): path.stat().st_size for path in files}
            about = {"id": name, "sha": COMMIT, "siblings": []}
            digests = {path: hashlib.sha1(path.encode()).hexdigest() for path in sizes}
            tree = [{"type": "file", "path": path, "size": sizes[path], "oid": digests[path]} for path in sizes]
            self.reply(json.dumps(about if question == "revision" else tree).encode() if files else None)
        else:
            path = self.repositories.joinpath(kind, rest[0], *rest[3:])
            self.reply(path.read_bytes() if path.is_file() else None)

    do_HEAD = do_GET  # noqa: N815, a name that the server looks for

    def reply(self, content: bytes | None) -> None:
        self.send_response(404 if content is None else 200)
        body = content or b""
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{hashlib.sha1(self.path.encode()).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        if content is None:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass


@pytest.fixture
def hub(tmp_path):
    """Repositories of a running hub, and a function that looks there for a model, in a process of its own."""
    Hub.repositories = tmp_path / "hub"
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()

    def find(name: str, revision: str | None = None, **variables: str):
        place = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": str(tmp_path / "cache")}
        environment = os.environ | place | variables
        command = [sys.executable, "-c", FOUND, json.dumps([name, revision, "translator.es.there"])]
        ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=True, timeout=900)
        return json.loads(ran.stdout)

    yield tmp_path / "hub", find
    server.shutdown()
    thread.join()
    server.server_close()


def test_of_a_model_on_the_hub_what_is_needed_is_fetched_once(hub) -> None:
    repositories, find = hub
    wanted = ["generation_config.json", "sentencepiece.bpe.model", "source.spm", "target.spm", "tokenizer.json"]
    unwanted = ["pytorch_model.bin", "tf_model.h5", "README.md", "consolidated.safetensors", "onnx/model.safetensors"]
    saved(repositories / "we" / "marian", *wanted, *unwanted, "onnx/config.json")
    place, version = find("we/marian")
    assert version == COMMIT
    assert sorted(os.listdir(place)) == sorted([*NEEDED, *wanted])
    assert find("we/marian", HF_HUB_OFFLINE="1") == [place, version]


def test_pickled_weights_are_fetched_where_there_are_no_others(hub) -> None:
    repositories, find = hub
    folder = saved(repositories / "we" / "old")
    (folder / WEIGHTS).rename(folder / "pytorch_model.bin")
    place, version = find("we/old", "v1")
    assert "/api/models/we/old/revision/v1" in Hub.asked
    assert version == COMMIT
    assert "pytorch_model.bin" in os.listdir(place)


def test_a_model_on_the_hub_that_needs_code_is_refused(hub) -> None:
    repositories, find = hub
    config = saved(repositories / "we" / "code") / "config.json"
    config.write_text('{"auto_map": {"AutoModel": "modeling.Malice"}}')
    assert "translator.es.there=we/code: its config.json asks for Python code" in find("we/code")


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({}, "404"),
        ({"HF_HUB_OFFLINE": "1"}, "outgoing traffic has been disabled"),
        ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "Connection refused"),
    ],
)
def test_a_model_that_cannot_be_fetched_is_refused_at_once(hub, variables, reason) -> None:
    message = hub[1]("we/none", "v2", **variables)
    start = "translator.es.there=we/none: there is no such folder, and the hub does not give this model ("
    assert message.startswith(start)
    for part in (reason, "set translator.es.there=<name on the hub, or folder", "hf download we/none --revision v2"):
        assert part in message
