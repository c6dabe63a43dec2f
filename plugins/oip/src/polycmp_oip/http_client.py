"""The protocol over HTTP, with tensors as bytes where the server takes them, else as JSON."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.client import BadStatusLine
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

import urllib3
from numpy.typing import NDArray
from urllib3 import exceptions

from polycmp.errors import BackendError, DataError, describe_exception
from polycmp.tensors import ModelDescription, TensorMetadata, dtype_of
from polycmp_oip.client import Arrays, Server, describe, no_inputs, other_names, shortened
from polycmp_oip.tensors import datatype_of, from_bytes, from_json, to_bytes, to_json

if TYPE_CHECKING:
    from polycmp_oip.address import Address
    from polycmp_oip.credentials import Credentials
    from polycmp_oip.plugin import Options

#: What a server that takes tensors as bytes lists among its extensions.
BINARY = "binary_tensor_data"
_HEADER_LENGTH = "Inference-Header-Content-Length"
#: Only a connection that could not be made is tried again: nothing was sent on it.
_RETRIES = urllib3.Retry(total=None, connect=2, read=0, redirect=0, status=0, other=0, backoff_factor=0.1)
_CHUNK = 1 << 20
#: Bytes of an answer that are looked at to quote it; far more than is shown, so that no value to hide is cut in two.
_QUOTED = 100_000
_SIGN_IN = (401, 403, 407)


def _was_closed(error: exceptions.HTTPError) -> bool:
    """Return whether the server closed the connection instead of beginning an answer."""
    cause = error.reason if isinstance(error, exceptions.MaxRetryError) else error
    return isinstance(cause, exceptions.ProtocolError) and isinstance(cause.args[-1], ConnectionError)


class HttpClient:
    """Asks one server about one model; all requests share a pool of connections that stay open.

    Args:
        address: The server and the model.
        options: The backend's options.
        credentials: Headers of every request.
    """

    def __init__(self, address: Address, options: Options, credentials: Credentials) -> None:
        self._address = address
        self._timeout = options.timeout
        self._credentials = credentials
        self._form = options.tensors
        self._binary = options.tensors == "bytes"
        self._model = f"{address.prefix}/v2/models/{quote(address.model, safe='')}"
        self._version = f"/versions/{quote(address.version, safe='')}" if address.version else ""
        settings: dict[str, Any] = {"maxsize": max(options.among, 1), "block": True}
        if address.is_encrypted:
            settings["ssl_context"] = ssl_context(options)
        if options.insecure:  # a note says it once; urllib3 would warn of each request, and has no other switch
            urllib3.disable_warnings(exceptions.InsecureRequestWarning)
        make = urllib3.HTTPSConnectionPool if address.is_encrypted else urllib3.HTTPConnectionPool
        self._pool = make(address.host, address.port, **settings)

    def server(self) -> Server:
        """Return what the server says of itself, by which the form of tensors is chosen; empty behind some gateways."""
        path = f"{self._address.prefix}/v2"
        status, content, _ = self._request("GET", path)
        if status != 200:
            return Server()
        facts = self._facts(content, path)
        extensions = facts.get("extensions")
        names = tuple(map(str, extensions)) if isinstance(extensions, list) else ()
        self._binary = self._form == "bytes" or (self._form == "auto" and BINARY in names)
        hide = self._credentials.hide
        return Server(hide(str(facts.get("name") or "")), hide(str(facts.get("version") or "")), names)

    def model(self) -> ModelDescription:
        """Return inputs and outputs of the model, which is ready."""
        path = self._model + self._version
        status, content, _ = self._request("GET", path)
        if status != 200:
            self._refuse_model(status, content)
        facts = self._facts(content, path)
        ready, answer, _ = self._request("GET", f"{path}/ready")
        if ready != 200 or _is_unready(answer):
            self._fail(ready, answer, f"has {self._address.title} not ready", self._curl(f"{path}/ready"))
        if not facts.get("inputs"):
            raise no_inputs(self._address)
        with self._reading(path):
            return ModelDescription(_tensors(facts, "input"), _tensors(facts, "output"))

    def infer(self, inputs: Arrays, outputs: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Run the model once."""
        path = f"{self._model}{self._version}/infer"
        body, headers = self._encoded(inputs, outputs)
        status, content, answered = self._request("POST", path, body, headers)
        if status != 200:
            hint = self._curl(path.removesuffix("/infer"))
            self._fail(status, content, f"does not run {self._address.title}", hint)
        with self._reading(path):
            return _decoded(content, answered.get(_HEADER_LENGTH))

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _encoded(self, inputs: Arrays, outputs: Iterable[str]) -> tuple[list[Any], dict[str, str]]:
        tensors, data = list[dict[str, Any]](), list[Any]()
        for name, array in inputs.items():
            tensor: dict[str, Any] = {
                "name": name,
                "datatype": datatype_of(dtype_of(array)),
                "shape": list(array.shape),
            }
            if self._binary:
                data.append(to_bytes(array))
                tensor["parameters"] = {"binary_data_size": len(data[-1])}
            else:
                tensor["data"] = to_json(array)
            tensors.append(tensor)
        request: dict[str, Any] = {"inputs": tensors}
        asked = [{"name": name, **({"parameters": {"binary_data": True}} if self._binary else {})} for name in outputs]
        if asked:
            request["outputs"] = asked
        elif self._binary:
            request["parameters"] = {"binary_data_output": True}
        text = json.dumps(request).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(text) + sum(map(len, data)))}
        if self._binary:
            headers |= {"Content-Type": "application/octet-stream", _HEADER_LENGTH: str(len(text))}
        return [text, *data], headers

    def _request(
        self, method: str, path: str, body: bytes | list[Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, Mapping[str, str]]:
        """Return status, content and headers of the answer to one request, which is sent once.

        A GET on a connection that the server closed is sent once more: a server may close one that was kept open at any
        time, also between two requests, and a GET changes nothing there.

        Raises:
            BackendError: There is no answer, or not all of it.
        """
        try:
            try:
                return self._send(method, path, body, headers)
            except (exceptions.MaxRetryError, exceptions.ProtocolError) as error:
                if method != "GET" or not _was_closed(error):
                    raise
                return self._send(method, path, body, headers)
        except (exceptions.HTTPError, OSError) as error:
            raise self._unanswered(error) from None

    def _send(
        self, method: str, path: str, body: bytes | list[Any] | None, headers: Mapping[str, str] | None
    ) -> tuple[int, bytes, Mapping[str, str]]:
        """Send a request and return the answer.

        Raises:
            HTTPError: There is no answer, or not all of it; OSError likewise.
            BackendError: The server sends on to another place.
        """
        deadline = time.monotonic() + self._timeout
        response = self._pool.urlopen(
            method,
            path,
            body,
            {**(headers or {}), **self._credentials.headers},
            retries=_RETRIES,
            redirect=False,
            preload_content=False,
            timeout=urllib3.Timeout(self._timeout),
        )
        try:
            self._refuse_redirection(response)
            return response.status, self._read(response, deadline), response.headers
        except BaseException:
            response.close()
            raise
        finally:
            response.release_conn()

    def _refuse_redirection(self, response: urllib3.BaseHTTPResponse) -> None:
        """Refuse to follow to another place, to which headers and inputs would go."""
        target = response.get_redirect_location()
        if target:
            shown = shortened(self._credentials.hide(target.partition("?")[0]))
            raise BackendError(
                f"{self._address.server} sends requests on to {shown}",
                why=f"status {response.status}; inputs and headers go nowhere but to the address that was given",
                hint=f"-b oip:url={shown.partition('/v2')[0]}",
            )

    def _read(self, response: urllib3.BaseHTTPResponse, deadline: float) -> bytes:
        """Return the content; a timeout of sockets alone would let a server that drips go on for ever."""
        chunks = []
        while chunk := response.read1(_CHUNK):
            chunks.append(chunk)
            if time.monotonic() > deadline:
                raise TimeoutError("the answer did not end in time")
        return b"".join(chunks)

    def _unanswered(self, error: Exception) -> BackendError:
        """Return the error for a request without an answer."""
        cause: BaseException = error.reason if isinstance(error, exceptions.MaxRetryError) and error.reason else error
        root = cause.args[-1] if isinstance(cause, exceptions.ProtocolError) else cause.__cause__
        why = self._credentials.hide(describe_exception(root if isinstance(root, BaseException) else cause))
        server, ready = self._address.server, self._curl(f"{self._address.prefix}/v2/health/ready")
        if isinstance(cause, exceptions.NameResolutionError | exceptions.LocationValueError):
            return BackendError(
                f"there is no host {self._address.host!r}", why=why, hint="-b oip:url=ADDRESS, of a host that there is"
            )
        if isinstance(cause, exceptions.NewConnectionError):
            return BackendError(f"no server answers at {server}", why=why, hint=ready)
        if isinstance(cause, exceptions.ConnectTimeoutError):
            return BackendError(f"no server answers at {server} within {self._timeout:g} s", why=why, hint=ready)
        if isinstance(cause, exceptions.SSLError | ssl.SSLError):
            return BackendError(
                f"no encrypted connection to {server}",
                why=why,
                hint="-b oip:…,ca_file=FILE names the certificates to trust, certificate=FILE that of this client",
            )
        if isinstance(cause, exceptions.TimeoutError | TimeoutError):
            return BackendError(
                f"{server} did not answer within {self._timeout:g} s",
                why=why,
                hint=f"-b oip:…,timeout={self._timeout * 10:g}, or look into the server's log",
            )
        if isinstance(root, BadStatusLine) and not isinstance(root, ConnectionError):
            hint = "is this the port of gRPC? Then -b oip:url=grpc://…; Triton's is 8001, beside 8000 for HTTP"
            begins = f"its answer begins with {str(root)[:20]!a}"
            return BackendError(f"what answers at {server} does not speak HTTP", why=begins, hint=hint)
        return BackendError(
            f"{server} broke the connection before its answer was complete",
            why=why,
            hint="look into the server's log; the request may have been carried out, so it is not sent again",
        )

    def _refuse_model(self, status: int, content: bytes) -> NoReturn:
        """Raise the error for a model that the server does not describe, with what it has instead."""
        if status in _SIGN_IN:
            self._fail(status, content, f"does not let this client ask for {self._address.title}", "")
        ready_path = f"{self._address.prefix}/v2/health/ready"
        ready, answer, _ = self._request("GET", ready_path)
        if ready not in (200, 404):  # a gateway need not lead there
            self._fail(ready, answer, "is not ready", self._curl(ready_path))
        known = self._model_names()
        hint = other_names(self._address, known) or self._curl(self._model)
        self._fail(status, content, f"has no {self._address.title} that is ready", hint)

    def _model_names(self) -> list[str]:
        """Return the names of the server's models; none where it does not list them."""
        status, content, _ = self._request("POST", f"{self._address.prefix}/v2/repository/index", b"{}")
        try:
            index = json.loads(content) if status == 200 else []
            return [str(item["name"]) for item in index]
        except (ValueError, TypeError, KeyError):
            return []

    def _fail(self, status: int, content: bytes, what: str, hint: str) -> NoReturn:
        """Raise the error for an answer other than 200, with the server's own text."""
        if status in _SIGN_IN:
            hint = "-b oip:…,header_env=[Authorization:VARIABLE], where VARIABLE holds such as `Bearer TOKEN`"
        raise BackendError(f"{self._address.server} {what}", why=self._said(status, content), hint=hint)

    def _said(self, status: int, content: bytes) -> str:
        """Return status and message of an answer in words."""
        text = content.decode("utf-8", "replace")
        try:
            facts = json.loads(text)
        except ValueError:
            facts = None
        if isinstance(facts, dict):
            text = next((str(facts[key]) for key in ("error", "detail", "message") if facts.get(key)), text)
        return f"status {status}" + (f": {shortened(self._credentials.hide(text))}" if text.strip() else "")

    @contextmanager
    def _reading(self, path: str) -> Iterator[None]:
        """Turn a `ValueError` about an answer into the error that names its address."""
        try:
            yield
        except ValueError as error:
            raise BackendError(
                f"the answer of {self._address.scheme}://{self._address.authority}{path} is none of the protocol",
                why=shortened(self._credentials.hide(str(error))),
                hint=self._curl(f"{self._address.prefix}/v2"),
            ) from None

    def _facts(self, content: bytes, path: str) -> dict[str, Any]:
        with self._reading(path):
            return _object(content)

    def _curl(self, path: str) -> str:
        return f"curl -i {self._address.scheme}://{self._address.authority}{path}"


def _object(content: bytes) -> dict[str, Any]:
    try:
        facts = json.loads(content)
    except ValueError:
        facts = None
    if not isinstance(facts, dict):
        raise ValueError(f"no object of JSON: '{content[:_QUOTED].decode('utf-8', 'replace')}'")
    return facts


def _is_unready(content: bytes) -> bool:
    """Return whether an answer of status 200 says all the same that a model is not ready."""
    try:
        return _object(content).get("ready") is False
    except ValueError:
        return False


def _tensors(facts: Mapping[str, Any], role: str) -> TensorMetadata:
    items = facts.get(f"{role}s") or []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ValueError(f"its {role}s are no list of tensors")
    return describe(((str(i.get("name")), str(i.get("datatype")), i.get("shape") or ()) for i in items), role)


def _decoded(content: bytes, header_length: str | None) -> dict[str, NDArray[Any]]:
    """Return the outputs of an answer, which begins with an object of JSON of a length where bytes follow it."""
    if header_length is not None and not header_length.isdecimal():
        raise ValueError(f"the header {_HEADER_LENGTH} is {header_length!r}")
    end = len(content) if header_length is None else int(header_length)
    tensors = _object(content[:end]).get("outputs")
    if not isinstance(tensors, list) or not all(isinstance(item, dict) for item in tensors):
        raise ValueError("it has no list of outputs")
    data, arrays = memoryview(content)[end:], dict[str, NDArray[Any]]()
    for item in tensors:
        name, datatype, shape = str(item.get("name")), str(item.get("datatype")), item.get("shape")
        if not isinstance(shape, list) or not all(isinstance(dim, int) and dim >= 0 for dim in shape):
            raise ValueError(f"output {name!r} has the shape {shape!r}, which is none")
        size = (item.get("parameters") or {}).get("binary_data_size")
        if size is None:
            arrays[name] = from_json(item.get("data"), datatype, shape, f"output {name!r}")
            continue
        if not isinstance(size, int) or not 0 <= size <= len(data):
            raise ValueError(f"output {name!r} is said to have {size!r} bytes, and {len(data)} are left")
        arrays[name] = from_bytes(data[:size], datatype, shape, f"output {name!r}")
        data = data[size:]
    return arrays


def ssl_context(options: Options) -> ssl.SSLContext:
    """Return the settings of encrypted connections.

    Raises:
        DataError: A file of certificates cannot be read.
    """
    try:
        context = ssl.create_default_context(cafile=options.ca_file or None)
    except (OSError, ssl.SSLError) as error:
        raise _unreadable(options.ca_file, error) from None
    if options.certificate:
        try:
            context.load_cert_chain(options.certificate, options.key or None, _no_password)
        except (OSError, ssl.SSLError, ValueError) as error:
            raise _unreadable(" and ".join(filter(None, (options.certificate, options.key))), error) from None
    if options.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _no_password() -> str:
    raise ValueError("its key is encrypted by a password, which nobody is here to type")


def _unreadable(path: str, error: Exception) -> DataError:
    return DataError(
        f"no certificate could be read from {path}",
        why=describe_exception(error),
        hint="it takes files in PEM, which begin with -----BEGIN",
    )
