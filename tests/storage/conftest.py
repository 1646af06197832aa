"""A real web server on this machine, and files by hand."""

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web
from fsspec.implementations.http import HTTPStreamFile

from tests.fixtures.corpora import written


@dataclass
class WebServer:
    """Serves the files of a folder, under ``/<how>/<file>``.

    ``ranges``: as good servers do. ``whole``: never a part of a file. ``bare``: neither ETag nor Last-Modified.
    ``unsized``: no size. ``breaking``: breaks off in the middle of what it was asked for. ``hopeless``: does so, and
    sends no parts either.

    A client that learns of the end before it has read what came before it throws that away: answers break off once all
    that was sent has been read, of which ``num_read`` keeps count.
    """

    folder: Path
    port: int = 0
    ranges: list[str] = field(default_factory=list)
    num_read: int = 0

    def url(self, how: str, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{how}/{name}"

    async def answer(self, request: web.Request) -> web.StreamResponse:
        how, name = request.match_info["how"], request.match_info["name"]
        path = self.folder / name
        if not path.is_file():
            raise web.HTTPNotFound
        self.ranges.append(request.headers.get("Range", ""))
        if how == "ranges":
            return web.FileResponse(path)
        return await self.poor_answer(request, how, path.read_bytes())

    async def poor_answer(self, request: web.Request, how: str, content: bytes) -> web.StreamResponse:
        part = request.http_range if how in ("breaking", "bare") else slice(None)
        first, total = part.start or 0, len(content)
        is_part = part.start is not None
        response = web.StreamResponse(status=206 if is_part else 200)
        body = content[first : part.stop]
        if is_part:
            response.headers["Content-Range"] = f"bytes {first}-{first + len(body) - 1}/{total}"
        if how != "bare":
            response.headers["ETag"] = f'"{hash(content)}"'
        if how != "unsized":
            response.content_length = len(body)
        self.num_read = 0
        await response.prepare(request)
        breaks = how in ("breaking", "hopeless") and len(body) > 1000
        await response.write(body[: len(body) // 2] if breaks else body)
        if breaks:
            # One that asked for the first byte only has gone by itself.
            while request.transport and self.num_read < len(body) // 2:
                await asyncio.sleep(0.001)
            if request.transport:
                request.transport.close()
        return response

    def counted(self, read: Callable[..., bytes]) -> Callable[..., bytes]:
        """A client's method of reading, of whose bytes count is kept."""

        def read_and_count(*arguments: object) -> bytes:
            piece = read(*arguments)
            self.num_read += len(piece)
            return piece

        return read_and_count


@pytest.fixture
def file(tmp_path):
    """Writes text, bytes, or what else there is as JSON; returns the path."""

    def write(content, name="rows.json"):
        if not isinstance(content, str | bytes):
            content = json.dumps(content)
        return str(written(tmp_path / name, content))

    return write


@pytest.fixture
def web_server(tmp_path, monkeypatch):
    """A running :class:`WebServer` for an empty folder."""
    server = WebServer(tmp_path / "served")
    monkeypatch.setattr(HTTPStreamFile, "read", server.counted(HTTPStreamFile.read))
    server.folder.mkdir()
    loop = asyncio.new_event_loop()
    application = web.Application()
    application.router.add_get("/{how}/{name:.+}", server.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)

    async def start() -> None:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.port = runner.addresses[0][1]

    loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield server
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
