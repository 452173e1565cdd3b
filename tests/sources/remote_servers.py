"""Servers of this machine that stand in for an object store and for web servers."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any


@contextmanager
def served(folder: Path, *, ranges: bool, needs: str = "") -> Iterator[str]:
    """A web server over a folder.

    Args:
        folder: what it serves.
        ranges: whether it gives parts of a file.
        needs: the query that every address must have, else access is denied.

    Yields:
        Its address.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(folder), ranges=ranges, needs=needs))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *args: Any, ranges: bool, needs: str, **kwargs: Any) -> None:
        self._ranges = ranges
        self._needs = needs
        super().__init__(*args, **kwargs)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer with a file, or the part of it that was asked for."""
        path, _, query = self.path.partition("?")
        file = Path(self.translate_path(path))
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if query != self._needs:
            self.send_error(403)
        elif not file.is_file():
            self.send_error(404)
        elif asked and self._ranges:
            data = file.read_bytes()
            start, end = int(asked[1]), min(int(asked[2]), len(data) - 1)
            if start > end:
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{end}/{len(data)}")
            self.send_header("Content-Length", str(end - start + 1))
            self.end_headers()
            self.wfile.write(data[start : end + 1])
        else:
            data = file.read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)


def silent_port() -> int:
    """A port at which nobody listens."""
    with HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        return int(server.server_address[1])


def upload(client: Any, bucket: str, folder: Path, prefix: str = "") -> None:
    """Put all files below a folder into a bucket."""
    for base, _, names in os.walk(folder):
        for name in names:
            file = Path(base) / name
            client.put_object(Bucket=bucket, Key=prefix + file.relative_to(folder).as_posix(), Body=file.read_bytes())
