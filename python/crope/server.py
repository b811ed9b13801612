"""The program `crope serve` as a child process, and requests to it. Needs the standard library alone."""

import contextlib
import http.client
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def find_program(given: str | None = None) -> str:
    """The program: as given, $CROPE_BINARY, or `crope` on the PATH."""
    program = given or os.environ.get("CROPE_BINARY") or shutil.which("crope")
    if program is None or not Path(program).exists():
        raise FileNotFoundError(
            f"the program crope was not found ({program or 'not on the PATH'}): "
            "build it with 'make build' and set CROPE_BINARY=build/release/crope"
        )
    return program


class Server:
    """A server on a free port of this machine, until close() or the end of the process."""

    def __init__(self, model: str | Path, *flags: str, program: str | None = None) -> None:
        command = [find_program(program), "serve", str(model), "--port", "0", *flags]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.connections = threading.local()
        assert self.process.stderr is not None
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if address := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(address.group(1))
                break
        else:
            raise RuntimeError(f"'{' '.join(command)}' did not start: {''.join(lines).strip()}")
        # The pipe is read to its end, so that the server never waits for a reader of its log.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """The answer to a request, from any thread. Raises RuntimeError with the server's message on an error."""
        text = json.dumps(body)
        for attempt in (1, 2):
            connection: http.client.HTTPConnection | None = getattr(self.connections, "value", None)
            if connection is None:
                connection = self.connections.value = http.client.HTTPConnection("127.0.0.1", self.port)
            try:
                connection.request("POST", path, text, {"Content-Type": "application/json"})
                response = connection.getresponse()
                answer = json.loads(response.read())
                break
            except (http.client.HTTPException, ConnectionError):
                # A connection that was idle for too long is closed by the server; a second try has a new one.
                connection.close()
                self.connections.value = None
                if attempt == 2:
                    raise
        if response.status != 200:
            raise RuntimeError(f"crope serve: {response.status}: {answer.get('error', {}).get('message', answer)}")
        return answer

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


@contextlib.contextmanager
def serve(model: str | Path, *flags: str, program: str | None = None) -> Iterator[Server]:
    server = Server(model, *flags, program=program)
    try:
        yield server
    finally:
        server.close()
