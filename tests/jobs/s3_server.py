"""moto's S3 server on a port, which knows one key, and serves objects whose names ask for it badly.

The first part of ``.../held/...`` is held from its arrival, which requests for ``/arrival`` wait for, until a request
for ``/release``. The second part of ``.../broken/...`` is never taken.
"""

import re
import sys
import threading

from moto.server import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple

MOST_SECONDS = 120
"""That anybody waits for anybody; what works is far from it."""
REFUSAL = "<?xml version='1.0'?><Error><Code>{0}</Code><Message>{0}</Message></Error>"


class Server:
    """The application."""

    def __init__(self):
        self.moto = DomainDispatcherApplication(create_backend_app)
        self.arrival, self.release = threading.Event(), threading.Event()

    def __call__(self, environ, start_response):
        """Answer a request."""
        path, query = environ["PATH_INFO"], environ["QUERY_STRING"]
        if path == "/arrival":
            return self._tell(self.arrival.wait(MOST_SECONDS), start_response)
        if path == "/release":
            self.release.set()
            return self._tell(True, start_response)
        if "Credential=key/" not in environ.get("HTTP_AUTHORIZATION", ""):
            return self._refuse("403 Forbidden", "InvalidAccessKeyId", start_response)
        if "/broken/" in path and re.search(r"partNumber=2\b", query):
            return self._refuse("403 Forbidden", "AccessDenied", start_response)
        if "/held/" in path and re.search(r"partNumber=1\b", query):
            self.arrival.set()
            self.release.wait(MOST_SECONDS)
        return self.moto(environ, start_response)

    @staticmethod
    def _tell(is_so, start_response):
        start_response("200 OK" if is_so else "504 Gateway Timeout", [])
        return []

    @staticmethod
    def _refuse(status, code, start_response):
        start_response(status, [("Content-Type", "application/xml")])
        return [REFUSAL.format(code).encode()]


if __name__ == "__main__":
    run_simple("127.0.0.1", int(sys.argv[1]), Server(), threaded=True, request_handler=MotoRequestHandler)
