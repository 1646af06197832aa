"""A headless Chromium, spoken to over the DevTools protocol through two pipes: one process, many pages."""

import json
import os
import select
import subprocess

_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run")
_QUIET = ("--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync")
_SECONDS = 120
_PROBLEMS = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")


class Browser:
    """A browser process, which ends with :meth:`close`."""

    def __init__(self, executable, profile):
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        # The browser reads from descriptor 3 and writes to 4.
        command = ["bash", "-c", f'exec "$0" "$@" 3<&{requests} 4>&{answers}', executable, *_FLAGS, *_QUIET]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command += [f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(command, pass_fds=(requests, answers), **quiet)
        os.close(requests)
        os.close(answers)
        self._rest, self._last, self.events = b"", 0, []

    def call(self, method, session=None, **arguments):
        """What a method of the protocol returns; events that come before it are kept."""
        self._last += 1
        request = {"id": self._last, "method": method, "params": arguments} | (
            {"sessionId": session} if session else {}
        )
        os.write(self._requests, json.dumps(request).encode() + b"\0")
        while (answer := self._next()).get("id") != self._last:
            self.events.append(answer)
        assert "error" not in answer, f"{method}: {answer['error']['message']}"
        return answer["result"]

    def wait(self, method, session):
        """Until an event has come."""
        while not any((event["method"], event.get("sessionId")) == (method, session) for event in self.events):
            self.events.append(self._next())

    def _next(self):
        while b"\0" not in self._rest:
            assert select.select([self._answers], [], [], _SECONDS)[0], "the browser does not answer"
            part = os.read(self._answers, 2**20)
            assert part, "the browser has ended"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def close(self):
        self.call("Browser.close")
        self._process.wait(_SECONDS)
        os.close(self._requests)
        os.close(self._answers)

    def open(self, path, width, before=""):
        """A file in a new tab of a width in pixels, after a script that runs before those of the page."""
        tab = Tab(self, width)
        tab.call("Page.addScriptToEvaluateOnNewDocument", source=before)
        tab.call("Page.navigate", url=path.as_uri())
        self.wait("Page.loadEventFired", tab.session)
        return tab


class Tab:
    """A page, and what went wrong in it."""

    def __init__(self, browser, width):
        self._browser = browser
        self._target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=self._target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width)

    def call(self, method, **arguments):
        return self._browser.call(method, self.session, **arguments)

    def resize(self, width):
        # What lies behind another tab is not laid out.
        self.call("Page.bringToFront")
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def run(self, script):
        """The value of an expression of JavaScript, or what its promise comes to."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key, code, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, text=text)

    @property
    def problems(self):
        """Exceptions, and what the page or the browser wrote to the console."""
        own = [event for event in self._browser.events if event.get("sessionId") == self.session]
        return [event["params"] for event in own if event["method"] in _PROBLEMS]

    def close(self):
        self._browser.call("Target.closeTarget", targetId=self._target)
