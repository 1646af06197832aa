"""Credentials, in the environment or in URIs, reach no file, no page, no log and no command line."""

import base64
import contextlib
import gzip
import http.server
import ipaddress
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import hydra
import psutil
import pytest

from tests.fixtures.plans import contents
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.cluster.work import Failure
from tiltmeter.jobs import execute as runs
from tiltmeter.jobs.composing import build
from tiltmeter.jobs.runtime.config import recorded_settings
from tiltmeter.jobs.sentiment.rating.job import RatingSources
from tiltmeter.jobs.sentiment.rating.systems import ScoresSystem, find_system
from tiltmeter.jobs.streams import RedactedStream
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.files import reading
from tiltmeter.storage.files.redaction import redacted_text, redacted_values
from tiltmeter.storage.store.ledger import Unit

ROOT = Path(__file__).parents[2]
SECRETS = {
    "store": "hunter2-store-Zq7xW",
    "corpus": "hunter2-corpus-Zq7xW",
    "query": "hunter2-query-Zq7xW",
    "HF_TOKEN": "hf_hunter2Zq7xW",
    "AWS_SECRET_ACCESS_KEY": "hunter2-environment-Zq7xW",
    "RAY_AUTH_TOKEN": "0123456789abcdef" * 4,
}
SECRET = SECRETS["store"]
URIS = [
    f"s3://AKIAEXAMPLE:{SECRET}@bucket/folder?region=us-east-1",
    f"https://me:{SECRET}@example.org/x.xml",
    f"https://example.org/x.xml?X-Amz-Signature={SECRET}&X-Amz-Date=1",
    f"ftp://{SECRET}@example.org/x.xml",
]


# --- texts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("uri", URIS)
@pytest.mark.parametrize(
    "text", ["{}", "cannot open {}: denied", "url='{}'", '"{}"', "<{}>", "({})", "{}\n  next", "a {}, b {}"]
)
def test_a_text_keeps_its_uris_and_loses_their_credentials(uri, text):
    found = redacted_text(text.replace("{}", uri))
    assert SECRET not in found
    assert uri.partition("://")[0] in found
    assert "example.org/x.xml" in found or "bucket/folder" in found


def test_other_texts_stay_as_they_are():
    text = "no URI: a@b, c?d=e, C://, 12:30, mailto:me@example.org, https://example.org/x.xml"
    assert redacted_text(text) == text


def test_nested_settings_lose_their_credentials():
    nested = {"path": (URIS[0], [URIS[1]]), "deep": {"deeper": {"x": URIS[2]}}, "number": 1, "none": None}
    found = redacted_values(nested | {"blank": f"s3://key:{SECRET} {SECRET}@bucket/folder"})
    assert SECRET not in str(found)
    assert found["blank"] == "s3://bucket/folder"
    assert found["path"] == ("s3://bucket/folder", ["https://example.org/x.xml"])
    assert (found["number"], found["none"]) == (1, None)


def test_what_is_printed_has_no_credentials():
    written = StringIO()
    with contextlib.redirect_stderr(RedactedStream(written)):
        print(f"cannot open {URIS[0]}", file=sys.stderr)
        traceback.print_exception(ValueError(URIS[1]))
        sys.stderr.flush()
    assert SECRET not in written.getvalue()
    assert "s3://bucket/folder" in written.getvalue()


def test_what_a_library_says_of_a_uri_is_told_without_its_credentials():
    with (
        pytest.raises(InputError, match=r"x\.xml: cannot be read: 403, url='https://example\.org/x\.xml'") as refusal,
        reading(URIS[2]),
    ):
        raise OSError(f"403, url='{URIS[2]}'")
    assert SECRET not in str(refusal.value)


# --- records --------------------------------------------------------------------------------------------------------

SETTINGS = {
    "entity_resolution": "pairs={} gold={}",
    "gru_training": "labelled.path={} +labelled.development={} +labelled.test={}",
    "sentiment_rating": "sentences=human sentiment=[gru,scores] +scores={} sentences.path={} sentiment.gru.path={}"
    " sentiment.scores.path={}",
    "sentiment_rating of logs": "logs.systems={mine:[{}]} logs.gender=doc.gender",
    "bootstrap": "corpus=file corpus.language=en corpus.path={}",
    "association": "embedding=file embedding.path={}",
}
"""Of jobs, with a URI for each {}."""


@pytest.mark.long
@pytest.mark.parametrize("case", SETTINGS)
def test_settings_are_recorded_without_credentials(case):
    words = [f"job={case.split()[0]}", f"store='{URIS[0]}'", *SETTINGS[case].replace("{}", f"'{URIS[1]}'").split()]
    with hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"):
        config = build(hydra.compose("tiltmeter", words))
    recorded = json.dumps(recorded_settings(config, "s3://bucket/folder"))
    assert SECRET not in recorded
    assert recorded.count("https://example.org/x.xml") == SETTINGS[case].count("{}")


def test_systems_are_recorded_without_credentials(tmp_path):
    """Where their files are is part of what they are."""
    scores = tmp_path / "scores.csv"
    scores.write_text("text,sentiment\na,1\n")
    system = find_system("mine", ScoresSystem(kind="scores", path=str(scores)), 0)
    file = system.file._replace(uri=URIS[0])
    found = system._replace(file=file, identity={"operator": "score_file/1", "file": file.identity})
    record = json.dumps(RatingSources(systems={"mine": found}).record())
    assert SECRET not in record
    assert "s3://bucket/folder" in record


@pytest.mark.parametrize("kind", ["error", "unit"])
def test_failures_are_recorded_without_credentials(kind):
    failure = Failure(Unit("pages/3", URIS[0], {}), f"OSError: {URIS[1]}", f"Traceback:\n  OSError: {URIS[2]}")
    error, record = UnitsFailed([failure]) if kind == "unit" else OSError(URIS[0]), {}
    directory = SimpleNamespace(record=record, write_record=lambda **entries: record.update(entries))
    run = SimpleNamespace(runner=SimpleNamespace(records=[], entry=None), directory=directory, published={})
    with pytest.raises(type(error)), runs._recorded(run):
        raise error from OSError(URIS[3])
    assert record["status"] == "failed"
    assert SECRET not in json.dumps(record)


def test_the_ledger_has_no_credentials_of_what_a_unit_reads(store):
    unit = Unit("pages/3", "corpus: x.xml from 0", {"uri": URIS[0], "source": [URIS[1]]})
    store.commit(unit, [])
    assert not [path for path, content in contents(store.local_path).items() if SECRET.encode() in content]
    assert SECRET not in unit.place


# --- a whole run ----------------------------------------------------------------------------------------------------


def documents(word: str) -> str:
    texts = [" ".join(f"{word}{(at * step) % 13}" for at in range(40)) for step in range(1, 12)]
    return "".join(json.dumps({"id": str(number), "text": text}) + "\n" for number, text in enumerate(texts))


@pytest.fixture
def web(tmp_path):
    """URLs of files on a server that wants a password; a flaky one can be asked for a few times only."""
    files = {"good": documents("a"), "broken": documents("b") + "{broken\n" * 20, "flaky": documents("c")}
    for name, text in files.items():
        (tmp_path / f"{name}.jsonl").write_text(text)
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(tmp_path))

        def log_message(self, *_):
            pass

        def do_GET(self):
            asked.append(self.path)
            is_first = self.headers.get("Range") == "bytes=0-0" or sum(map(self.path.__eq__, asked)) < 6
            if self.headers.get("Authorization") != f"Basic {base64.b64encode(login.encode()).decode()}":
                self.send_error(401)
            elif "flaky" in self.path and not is_first:
                self.send_error(500)
            else:
                super().do_GET()

    login = f"me:{SECRETS['corpus']}"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield lambda name: f"http://{login}@127.0.0.1:{server.server_port}/{name}.jsonl?token={SECRETS['query']}"
    server.shutdown()
    server.server_close()


def watched(process: subprocess.Popen) -> tuple[set[str], set[str]]:
    """Command lines of all that a process starts, and addresses on which it waits for connections, until it ends."""
    commands, addresses = set(), set()
    while process.poll() is None:
        with contextlib.suppress(psutil.Error):
            for one in (psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)):
                with contextlib.suppress(psutil.Error):
                    commands.add("\n".join(one.cmdline()))
                    listening = [at for at in one.net_connections("inet") if at.status == psutil.CONN_LISTEN]
                    addresses.update(at.laddr.ip for at in listening)
        time.sleep(0.3)
    return commands, addresses


def told_in(content: bytes) -> list[str]:
    """The secrets that a content has, also as passwords are sent, and packed."""
    contents = [content]
    with contextlib.suppress(OSError, EOFError):
        contents.append(gzip.decompress(content))
    forms = {name: [secret.encode(), base64.b64encode(f"me:{secret}".encode())] for name, secret in SECRETS.items()}
    return [name for name, of in forms.items() if any(form in text for form in of for text in contents)]


@pytest.mark.slow
def test_a_run_tells_nobody_its_secrets_and_listens_to_this_machine_alone(s3_bucket, web):
    """Of three corpora behind a password one is read, one is damaged, and one is taken away while it is read."""
    store = s3_bucket.uri("store").replace("key:secret", f"AKIAEXAMPLE:{SECRETS['store']}")
    client = s3_bucket.client
    with tempfile.TemporaryDirectory(prefix="tm") as short:  # names of sockets may not be long
        folder = Path(short)
        (folder / "cwd").mkdir()
        environment = os.environ | {name: SECRETS[name] for name in SECRETS if name.isupper()}
        environment |= {"AWS_ACCESS_KEY_ID": "AKIAOTHER", "RAY_TMPDIR": short, "PYTHONPATH": str(ROOT / "src")}
        environment |= {f"TILTMETER_{name.upper()}": web(name) for name in ("good", "broken", "flaky")}
        environment["TILTMETER_STORE"] = store
        words = ["job=bootstrap", "corpus=file", "corpus.name=good", "corpus.language=en", "run_dir=run"]
        words += ["store=${oc.env:TILTMETER_STORE}", "corpus.path=${oc.env:TILTMETER_GOOD}", "embedding.min_count=1"]
        words += ["embedding.num_replicas=2", "embedding.trainer.epochs=1", "embedding.trainer.dimensions=4"]
        words.append("cluster.num_cpus=1")
        for name, language in (("broken", "de"), ("flaky", "fr")):
            path = f"${{oc.env:TILTMETER_{name.upper()}}}"
            words.append(f"+corpus.{name}={{name: {name}, language: {language}, path: '{path}'}}")
        with open(folder / "output", "wb") as output:
            command = [sys.executable, "-P", "-m", "tiltmeter.jobs.app", *words]
            process = subprocess.Popen(command, cwd=folder / "cwd", env=environment, stdout=output, stderr=output)
            commands, addresses = watched(process)
        said = (folder / "output").read_text()
        assert process.returncode == 1, said
        record = json.loads((folder / "cwd/run/run.json").read_text())
        assert {failure["unit"].split(":")[0] for failure in record["failures"]} == {"broken", "flaky"}
        places = [entry["Key"] for entry in client.list_objects_v2(Bucket="tilt")["Contents"]]
        left = {place: client.get_object(Bucket="tilt", Key=place)["Body"].read() for place in places}
        left |= {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}
        left |= {command: command.encode() for command in commands}
    assert any("session_" in place and "gcs_server" in place for place in left)
    assert any(place.startswith("store/registry/") for place in left)
    assert any("raylet" in command for command in commands)
    assert [(place, told) for place, content in left.items() if (told := told_in(content))] == []
    found = [ipaddress.ip_address(address) for address in addresses]
    assert found
    assert all((getattr(address, "ipv4_mapped", None) or address).is_loopback for address in found)
