"""moto's S3 server on a port, which knows one key, and serves objects whose names ask for it badly.

Any part of ``.../slow/...`` takes a while, and the second part of ``.../broken/...`` is never taken.
"""

import re
import sys
import time

from moto.server import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple

SECONDS = 0.1
REFUSAL = "<?xml version='1.0'?><Error><Code>{0}</Code><Message>{0}</Message></Error>"


class Server:
    """The application."""

    def __init__(self):
        self.moto = DomainDispatcherApplication(create_backend_app)

    def __call__(self, environ, start_response):
        """Answer a request."""
        path, query = environ["PATH_INFO"], environ["QUERY_STRING"]
        if "Credential=key/" not in environ.get("HTTP_AUTHORIZATION", ""):
            return self._refuse("403 Forbidden", "InvalidAccessKeyId", start_response)
        if "/broken/" in path and re.search(r"partNumber=2\b", query):
            return self._refuse("403 Forbidden", "AccessDenied", start_response)
        if "/slow/" in path:
            time.sleep(SECONDS)
        return self.moto(environ, start_response)

    @staticmethod
    def _refuse(status, code, start_response):
        start_response(status, [("Content-Type", "application/xml")])
        return [REFUSAL.format(code).encode()]


if __name__ == "__main__":
    run_simple("127.0.0.1", int(sys.argv[1]), Server(), threaded=True, request_handler=MotoRequestHandler)
