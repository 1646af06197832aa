"""A connection to a server that can be made bad: run as a process, it passes bytes on as the word in a file says."""

import asyncio
import random
import sys
from collections.abc import Callable
from pathlib import Path

SECONDS_WHEN_SLOW = 0.4
SHARE_CUT = 0.15
UNAVAILABLE = b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
END_OF_HEADERS = b"\r\n\r\n"

Pipe = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Proxy:
    """Passes connections on to a server.

    Words: ``pass``; ``slow``, every message waits; ``errors``, each new request is answered 503; ``cut``, some bodies
    end half way, in both directions, and with them the connection.
    """

    def __init__(self, port: int, mode: Callable[[], str]) -> None:
        self.port, self.mode = port, mode

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        upstream = await asyncio.open_connection("127.0.0.1", self.port)
        both = self.pump(reader, upstream[1], writer), self.pump(upstream[0], writer, None)
        try:
            await asyncio.gather(*both)
        except ConnectionError:
            pass
        finally:
            for end in (writer, upstream[1]):
                end.close()

    async def pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, back: asyncio.StreamWriter | None
    ) -> None:
        """One direction of it; ``back`` is where an answer to a request goes."""
        doomed = False
        while chunk := await source.read(2**16):
            mode = self.mode()
            if END_OF_HEADERS in chunk:
                doomed = mode == "cut" and random.random() < SHARE_CUT
            if mode == "slow":
                await asyncio.sleep(SECONDS_WHEN_SLOW)
            if mode == "errors" and back:
                back.write(UNAVAILABLE)
                await back.drain()
                raise ConnectionAbortedError
            kept = half_of_body(chunk) if doomed else chunk
            sink.write(kept)
            await sink.drain()
            if len(kept) < len(chunk):
                raise ConnectionAbortedError
        raise ConnectionAbortedError


def half_of_body(chunk: bytes) -> bytes:
    """A message, or the next part of one, without the second half of its body."""
    start = chunk.find(END_OF_HEADERS) + len(END_OF_HEADERS) if END_OF_HEADERS in chunk else 0
    return chunk[: (start + len(chunk) + 1) // 2]


async def main(own_port: int, port: int, mode_file: Path) -> None:
    """Listen until killed."""
    proxy = Proxy(port, mode_file.read_text)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", own_port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])))
