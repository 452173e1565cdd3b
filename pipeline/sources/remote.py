"""Files of an object store or a web server, by the library obstore: found by listing, read in ranges.

Only what the user names is asked for; nothing in a trace ever leads here. Credentials, endpoints and regions come from
the environment, under the names that each service uses. What is behind the `?` of an address may be a signature, so it
stands in no name and in no message.
"""

import errno
import io
import os
import posixpath
import re
import tempfile
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cache
from typing import Any, BinaryIO, Final, cast
from urllib.parse import unquote, urlsplit, urlunsplit

import msgspec

from pipeline.errors import UsageError, quote

BUCKETS: Final = ("s3", "gs", "az")
"""Schemes of object stores, which list what they hold."""

WEB: Final = ("https", "http")
"""Schemes of web servers, which give one file by its address."""

# A whole transfer may be slow; only a silence is a fault. What fails for a moment is tried again.
_CLIENT: Final = {"connect_timeout": "10s", "read_timeout": "60s", "timeout": "24h"}
_RETRIES: Final = {"max_retries": 3, "retry_timeout": timedelta(seconds=60)}
_CREDENTIALS: Final = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION; AWS_SKIP_SIGNATURE=true for a public bucket",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS; GOOGLE_SKIP_SIGNATURE=true for a public bucket",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY; AZURE_SKIP_SIGNATURE=true for a public container",
}


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One file that was found.

    Attributes:
        url: its address.
        root: the address of the folder that its name is relative to.
        name: its name, with `/`.
        size: in bytes; None where the server gives it as a whole only.
        version: what the store calls the content at this moment, if it says so.
    """

    url: str
    root: str
    name: str
    size: int | None = None
    version: str | None = None


def is_remote(path: str) -> bool:
    """Whether a path is an address rather than a file of this machine.

    >>> is_remote("s3://bucket/traces"), is_remote("traces/a.json")
    (True, False)
    """
    scheme, colon, _ = path.partition("://")
    return bool(colon) and scheme.lower() in {*BUCKETS, *WEB}


def shown(url: str) -> str:
    """An address as messages may show it: without what may be secret.

    >>> shown("https://user:pass@example.org/a.json?signature=1")
    'https://example.org/a.json'
    """
    scheme, rest = url.split("://", 1)
    if scheme.lower() in BUCKETS:
        return quote(url)
    place, slash, path = rest.partition("/")
    return quote(f"{scheme}://{place.rpartition('@')[2]}{slash}{re.split('[?#]', path)[0]}")


def find(url: str) -> tuple[list[Found], bool]:
    """What an address stands for: a file, all files of a folder, or those that a pattern matches.

    Args:
        url: an address. In an object store it may be a pattern, unless a file has that very name.

    Returns:
        The files in the order of their addresses, and whether the address named one outright.

    Raises:
        UsageError: there is nothing, it may not be read, or the library is missing.
    """
    scheme = url.partition("://")[0].lower()
    try:
        return _find_on_web(url) if scheme in WEB else _find_in_bucket(url, scheme)
    except OSError as error:
        hint = (
            f"credentials come from the environment: {_CREDENTIALS[scheme]}"
            if scheme in _CREDENTIALS
            else "try the address from this machine, with curl for instance; what lets you in must stand in it"
        )
        raise UsageError(f"{shown(url)} cannot be read: {error.strerror}", hint=hint) from None


def _find_on_web(url: str) -> tuple[list[Found], bool]:
    store, key = _located(url)
    root, name = posixpath.split(urlsplit(url).path)
    where = urlsplit(shown(url))
    found = Found(url=url, root=urlunsplit((where.scheme, where.netloc, root, "", "")), name=unquote(name))
    try:
        # Not a HEAD: an address that is signed is signed for GET alone.
        meta = _call(lambda obstore: obstore.get(store, key, options={"range": (0, 1)}).meta)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        # The server gives no ranges, so the file will be fetched whole.
        return [found], True
    return [_with(found, meta)], True


def _find_in_bucket(url: str, scheme: str) -> tuple[list[Found], bool]:
    store, key = _located(url)
    bucket = "/".join(url.split("/", 3)[:3])
    if key and not key.endswith("/"):
        try:
            meta = _call(lambda obstore: obstore.head(store, key))
        except FileNotFoundError:
            pass
        else:
            root, name = posixpath.split(key)
            return [_with(Found(url=f"{bucket}/{key}", root=f"{bucket}/{root}".rstrip("/"), name=name), meta)], True
    wildcard = re.search(r"[*?\[]", key)
    folder = key[: key.rfind("/", 0, wildcard.start()) + 1] if wildcard else key
    matched = _pattern(key.rstrip("/")) if wildcard else lambda _: key.rstrip("/")
    files = []
    for meta in _call(lambda obstore: [one for page in obstore.list(store, prefix=folder) for one in page]):
        match = matched(meta["path"])
        if match is None:
            continue
        # What the pattern matched is a file, or a folder with the file somewhere below it.
        root = match if match != meta["path"] else posixpath.dirname(match)
        name = meta["path"].removeprefix(root).removeprefix("/")
        files.append(_with(Found(url=f"{bucket}/{meta['path']}", root=f"{bucket}/{root}".rstrip("/"), name=name), meta))
    if not files:
        raise UsageError(
            f"no such file or folder: {shown(url)}",
            hint=f"list what is there with the tools of the service; an address looks like {scheme}://NAME/FOLDER",
        )
    return sorted(files, key=lambda file: file.url.encode("utf-8", "surrogatepass")), False


def _pattern(pattern: str) -> Callable[[str], str | None]:
    """From a key to the part of it that a pattern matches: all of it, or a folder that it is in."""
    pieces = re.split(r"(\*\*/|\*\*|\*|\?|\[!?[^\]/]+\])", pattern)
    regex = "".join(_wild(piece) if index % 2 else re.escape(piece) for index, piece in enumerate(pieces))
    compiled = re.compile(f"({regex})(?:/.*)?", re.DOTALL)

    def matched(key: str) -> str | None:
        found = compiled.fullmatch(key)
        return found and found[1]

    return matched


def _wild(piece: str) -> str:
    """One wildcard of a pattern as a regular expression."""
    words = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if piece in words:
        return words[piece]
    negated = piece[1] == "!"
    inside = piece[1 + negated : -1].replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^")
    return f"[{'^/' if negated else ''}{inside}]"


def _with(found: Found, meta: Mapping[str, Any]) -> Found:
    version = meta["e_tag"]
    # A weak tag says that contents mean the same, not that they are: no server takes it as a condition.
    return msgspec.structs.replace(
        found, size=meta["size"], version=None if version is None or version.startswith("W/") else version
    )


def opened(url: str, size: int | None, version: str | None, buffer: int) -> BinaryIO:
    """A remote file, open at its beginning.

    Args:
        url: its address.
        size: its size; None fetches it whole into a temporary file.
        version: the content that was found; another one is an error.
        buffer: bytes to fetch at a time.

    Raises:
        OSError: it cannot be read; while reading as well.
    """
    if size is None:
        return _whole(url)
    return cast("BinaryIO", io.BufferedReader(_Ranges(url, size, version), buffer))


class _Ranges(io.RawIOBase):
    """A remote file as a raw stream that can seek: each read is a request of its own, so that none stays open."""

    def __init__(self, url: str, size: int, version: str | None) -> None:
        self._url = url
        self._size = size
        self._version = version
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = max(0, start + offset)
        return self._place

    def readinto(self, buffer: Any) -> int:
        end = min(self._place + len(buffer), self._size)
        if end <= self._place:
            return 0
        data = _range(self._url, self._place, end, self._version)
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)


def _range(url: str, start: int, end: int, version: str | None) -> bytes:
    store, key = _located(url)
    options: dict[str, Any] = {"range": (start, end)}
    if version is not None:
        options["if_match"] = version
    data: bytes = _call(lambda obstore: obstore.get(store, key, options=options).bytes().to_bytes())
    if len(data) != end - start:
        raise OSError(errno.EIO, "it ends earlier than it did when the run began")
    return data


def _whole(url: str) -> BinaryIO:
    store, key = _located(url)
    file = tempfile.TemporaryFile()  # noqa: SIM115 - whoever opens it closes it

    def fetch(obstore: Any) -> None:
        for piece in obstore.get(store, key).stream():
            file.write(piece)

    try:
        _call(fetch)
    except OSError:
        file.close()
        raise
    file.seek(0)
    return cast("BinaryIO", file)


def _located(url: str) -> tuple[Any, str]:
    """The store of an address, and the key in it."""
    parts = urlsplit(url)
    if parts.scheme.lower() in WEB:
        # The query belongs to every request; the key is encoded again by the library.
        base = urlunsplit((parts.scheme, parts.netloc, "", parts.query, ""))
        return _store(base), unquote(parts.path).lstrip("/")
    scheme, _, rest = url.partition("://")
    bucket, _, key = rest.partition("/")
    return _store(f"{scheme.lower()}://{bucket}"), key


@cache
def _store(base: str) -> Any:
    def made(_: Any) -> Any:
        from obstore.store import HTTPStore, from_url

        options: Any = {**_CLIENT, "allow_http": base.startswith("http") or _allows_http()}
        make: Any = HTTPStore.from_url if base.startswith("http") else from_url
        return make(base, client_options=options, retry_config=_RETRIES)

    return _call(made)


def _allows_http() -> bool:
    """Whether the environment allows a service without encryption, which the library no longer sees beside options."""
    names = ("AWS_ALLOW_HTTP", "GOOGLE_ALLOW_HTTP", "AZURE_ALLOW_HTTP")
    return any(os.environ.get(name, "").lower() in {"1", "true"} for name in names)


def _call(use: Callable[[Any], Any]) -> Any:
    """Use the library; its errors as the system's, with a reason that shows no address.

    Raises:
        OSError: what went wrong, in `strerror`.
        UsageError: the library is missing.
    """
    try:
        import obstore
        from obstore import exceptions
    except ImportError as error:
        raise UsageError(
            "reading from an address needs the extra 'remote'", hint="pip install 'diagnosis-eval[remote]'"
        ) from error
    try:
        return use(obstore)
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "there is nothing at this address") from None
    except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError):
        raise PermissionError(errno.EACCES, "access is denied") from None
    except exceptions.PreconditionError:
        raise OSError(errno.ESTALE, "it was replaced while it was being read") from None
    except (exceptions.NotSupportedError, NotImplementedError):
        raise OSError(errno.ENOTSUP, "the server does not give parts of a file") from None
    except (exceptions.BaseError, ValueError, OSError) as error:
        # An empty file has no part, not even its first byte.
        code = errno.ENOTSUP if "status code: 416" in str(error) else errno.EIO
        raise OSError(code, _reason(str(error))) from None


def _reason(text: str) -> str:
    """What the library says in short: the same for the same fault, so without addresses and times."""
    status = re.search(r"status code: (\d{3}[A-Za-z ]*)", text)
    if status:
        return f"the server answers {status[1].strip()}"
    if "HTTP error" in text:
        return "the server cannot be reached, or its answer breaks off"
    first = re.sub(r"\(?\bhttps?://[^\s)]*\)?", "the address", text.partition("\n")[0])
    return quote(re.sub(r" in [\d.]+ ?[nµm]?s\b", "", first))
