"""A page in headless Chromium, driven through its DevTools protocol over a pipe. Standard library only."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time


def find_chromium():
    """The path of a browser, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    return None


class Browser:
    """One browser with one page. What the page complains of is in `complaints`, what it asks for in `requests`."""

    FLAGS = ("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
             "--disable-component-update --disable-sync --remote-debugging-pipe").split()

    def __init__(self):
        self.complaints = []
        self.requests = []  # addresses
        self._number = 0
        self._session = None
        self._waiting = b""
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()

        def as_three_and_four():
            # Past both numbers first: either may already be one of the two.
            read, write = os.dup(to_browser), os.dup(from_browser)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self._process = subprocess.Popen(
            [find_chromium(), *self.FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            close_fds=False, preexec_fn=as_three_and_four)
        os.close(to_browser)
        os.close(from_browser)
        target = next(t for t in self._call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(domain + ".enable")

    def close(self):
        try:
            self._session = None
            self._call("Browser.close")
            self._process.wait(timeout=10)
        except (OSError, EOFError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _next_message(self):
        while b"\0" not in self._waiting:
            part = os.read(self._read, 1 << 16)
            if not part:
                raise EOFError("the browser has ended")
            self._waiting += part
        message, self._waiting = self._waiting.split(b"\0", 1)
        return json.loads(message)

    def _call(self, method, **parameters):
        self._number += 1
        number = self._number
        request = {"id": number, "method": method, "params": parameters}
        if self._session:
            request["sessionId"] = self._session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data):]
        while True:
            message = self._next_message()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self._note(message)

    def _note(self, message):
        method, given = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = given["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(a.get("value", a.get("description"))) for a in given["args"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        elif method == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            self.complaints.append(given["entry"]["text"] + " " + given["entry"].get("url", ""))

    def size(self, width, height, scale=1):
        self.width = width
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 600)

    def colours(self, scheme):
        """'light' or 'dark', as the system would say."""
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, address):
        self._call("Page.navigate", url=address)
        self.wait_for("document.readyState === 'complete'")

    def value(self, expression):
        """What a JavaScript expression gives; promises are waited for."""
        result = self._call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails'].get('exception', {}).get('description')}")
        return result["result"].get("value")

    def wait_for(self, expression, seconds=60):
        """Waits until the expression is true and returns its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                value = self.value(expression)
            except RuntimeError:  # the page is being replaced
                value = None
            if value:
                return value
            time.sleep(0.02)
        raise TimeoutError(f"after {seconds} s still not: {expression}\ncomplaints: {self.complaints}")

    def type(self, text):
        """Into what has the focus."""
        self._call("Input.insertText", text=text)

    def press(self, key, code=None, ctrl=False):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        common = {"key": key, "code": code or key, "windowsVirtualKeyCode": codes.get(key, 0), "modifiers": 2 if ctrl else 0}
        self._call("Input.dispatchKeyEvent", type="keyDown", **common)
        self._call("Input.dispatchKeyEvent", type="keyUp", **common)

    def point(self, x, y, click=False):
        self._call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        if click:
            for kind in ("mousePressed", "mouseReleased"):
                self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def middle(self, selector):
        """Where the middle of an element is, after scrolling to it."""
        return self.value(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
                          "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")

    def click(self, selector):
        self.point(*self.middle(selector), click=True)

    def screenshot(self, path, whole=True):
        data = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
