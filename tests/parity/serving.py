"""`crope serve` as a process beside a test."""

import contextlib
import os
import re
import signal
import subprocess

from conftest import ROOT


@contextlib.contextmanager
def serve(model_dir, *flags):
    """Starts a server on a free port of this machine, gives its address, and ends it politely."""
    program = os.environ.get("CROPE_BINARY", str(ROOT / "build" / "release" / "crope"))
    command = [program, "serve", str(model_dir), "--port", "0", *map(str, flags)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        lines = []
        for line in process.stderr:
            lines.append(line)
            address = re.search(r"http://127\.0\.0\.1:\d+", line)
            if address:
                break
        else:
            raise AssertionError("the server did not start: " + "".join(lines))
        yield address.group()
        assert process.poll() is None, "the server ended: " + process.stderr.read()
    finally:
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate()
    assert process.returncode == 0, rest
