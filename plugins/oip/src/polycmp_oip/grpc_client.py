"""The protocol over gRPC, with tensors as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from polycmp.errors import BackendError, DataError, PluginError, describe_exception
from polycmp.tensors import ModelDescription, TensorMetadata, dtype_of
from polycmp_oip.client import Arrays, Server, describe, no_inputs, other_names, shortened
from polycmp_oip.tensors import datatype_of, from_bytes, from_json, to_bytes

if TYPE_CHECKING:
    from polycmp_oip.address import Address
    from polycmp_oip.credentials import Credentials
    from polycmp_oip.plugin import Options

#: Without limits on the size of messages, without requests that the library sends again, and without the proxy of the
#: environment, which HTTP requests do not take either.
_SETTINGS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.enable_retries", 0),
    ("grpc.enable_http_proxy", 0),
)


class GrpcClient:
    """Asks one server about one model over one channel.

    Args:
        address: The server and the model.
        options: The backend's options.
        credentials: Headers of every request.

    Raises:
        PluginError: grpcio or protobuf is not installed.
        DataError: A file of certificates cannot be read.
    """

    def __init__(self, address: Address, options: Options, credentials: Credentials) -> None:
        try:
            import grpc

            from polycmp_oip.messages import PACKAGE, messages
        except ImportError as error:
            raise PluginError(
                "gRPC needs grpcio and protobuf", why=describe_exception(error), hint="pip install 'polycmp-oip[grpc]'"
            ) from error
        self._grpc, self._messages, self._package = grpc, messages(), PACKAGE
        self._address, self._options, self._credentials = address, options, credentials
        self._metadata = [(name.lower(), value) for name, value in credentials.headers.items()]
        self._named = {"name": address.model, "version": address.version}
        if address.is_encrypted:
            files = [
                _content(path) for path in (options.ca_file, options.key or options.certificate, options.certificate)
            ]
            self._channel = grpc.secure_channel(address.authority, grpc.ssl_channel_credentials(*files), _SETTINGS)
        else:
            self._channel = grpc.insecure_channel(address.authority, _SETTINGS)

    def server(self) -> Server:
        """Return what the server says of itself."""
        facts = self._call("ServerMetadata", "does not say what it is")
        hide = self._credentials.hide
        return Server(hide(facts.name), hide(facts.version), tuple(facts.extensions))

    def model(self) -> ModelDescription:
        """Return inputs and outputs of the model, which is ready."""
        named = self._address.title
        try:
            facts = self._call("ModelMetadata", f"has no {named} that is ready", **self._named)
        except BackendError as error:
            hint = other_names(self._address, self._model_names()) or error.hint
            raise BackendError(error.what, why=error.why, hint=hint) from None
        if not self._call("ModelReady", f"has {named} not ready", **self._named).ready:
            raise BackendError(f"{self._address.server} has {named} not ready", hint="look into the server's log")
        if not facts.inputs:
            raise no_inputs(self._address)
        with self._reading("ModelMetadata"):
            return ModelDescription(_described(facts.inputs, "input"), _described(facts.outputs, "output"))

    def infer(self, inputs: Arrays, outputs: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Run the model once."""
        tensors = [
            self._messages["Tensor"](name=name, datatype=datatype_of(dtype_of(array)), shape=array.shape)
            for name, array in inputs.items()
        ]
        answer = self._call(
            "ModelInfer",
            f"does not run {self._address.title}",
            model_name=self._address.model,
            model_version=self._address.version,
            inputs=tensors,
            outputs=[self._messages["Asked"](name=name) for name in outputs],
            raw_input_contents=[bytes(to_bytes(array)) for array in inputs.values()],
        )
        with self._reading("ModelInfer"):
            return _decoded(answer)

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()

    @contextmanager
    def _reading(self, method: str) -> Iterator[None]:
        """Turn a `ValueError` about an answer into the error that names the server."""
        try:
            yield
        except ValueError as error:
            raise BackendError(
                f"the answer of {self._address.server} to {method} is none of the protocol",
                why=shortened(self._credentials.hide(str(error))),
                hint="look into the server's log",
            ) from None

    def _call(self, method: str, failing: str, **fields: Any) -> Any:
        """Return the answer to one request, which is sent once.

        Raises:
            BackendError: There is none, or the server refuses the request.
        """
        call = self._channel.unary_unary(
            f"/{self._package}.GRPCInferenceService/{method}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=self._messages[f"{method}Response"].FromString,
        )
        request = self._messages[f"{method}Request"](**fields)
        try:
            return call(request, timeout=self._options.timeout, metadata=self._metadata)
        except self._grpc.RpcError as error:
            raise self._failed(error, failing) from None

    def _model_names(self) -> list[str]:
        """Return the names of the server's models; none where it does not list them."""
        try:
            return [item.name for item in self._call("RepositoryIndex", "").models]
        except BackendError:
            return []

    def _failed(self, error: Any, failing: str) -> BackendError:
        """Return the error for a call that failed, in words."""
        codes, code, server = self._grpc.StatusCode, error.code(), self._address.server
        said = shortened(self._credentials.hide(str(error.details() or "")))
        what, hint = f"{server} {failing}", "look into the server's log"
        if code is codes.UNAVAILABLE and "failed to connect" in said and self._address.is_encrypted:
            what = f"no encrypted connection to {server}"
            hint = "-b oip:…,ca_file=FILE names the certificates to trust, certificate=FILE that of this client"
        elif code is codes.UNAVAILABLE and ("failed to connect" in said or "resolution failed" in said):
            what = f"no server answers at {server}"
            hint = "is it running, and is this the port of gRPC? Triton's is 8001, beside 8000 for HTTP"
        elif code is codes.UNAVAILABLE and ("Socket closed" in said or "reset" in said):
            what = f"{server} broke the connection before its answer was complete"
            hint += "; the request may have been carried out, so it is not sent again"
        elif code is codes.DEADLINE_EXCEEDED:
            what = f"{server} did not answer within {self._options.timeout:g} s"
            hint = f"-b oip:…,timeout={self._options.timeout * 10:g}, or {hint}"
        elif code in (codes.UNAUTHENTICATED, codes.PERMISSION_DENIED):
            hint = "-b oip:…,header_env=[authorization:VARIABLE], where VARIABLE holds such as `Bearer TOKEN`"
        return BackendError(what, why=f"{code.name}: {said}" if said else code.name, hint=hint)


def _described(tensors: Iterable[Any], role: str) -> TensorMetadata:
    return describe(((item.name, item.datatype, item.shape) for item in tensors), role)


def _decoded(answer: Any) -> dict[str, NDArray[Any]]:
    raw = list(answer.raw_output_contents)
    if raw and len(raw) != len(answer.outputs):
        raise ValueError(f"it has {len(answer.outputs)} outputs and {len(raw)} contents")
    return {item.name: _array(item, raw[index] if raw else None) for index, item in enumerate(answer.outputs)}


def _array(item: Any, raw: bytes | None) -> NDArray[Any]:
    tensor, shape = f"output {item.name!r}", list(item.shape)
    if raw is not None:
        return from_bytes(raw, item.datatype, shape, tensor)
    values: Sequence[Any] = next((list(content) for _, content in item.contents.ListFields()), [])
    texts = [value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value for value in values]
    return from_json(texts, item.datatype, shape, tensor)


def _content(path: str) -> bytes | None:
    if not path:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise DataError(
            f"no certificate could be read from {path}", why=describe_exception(error), hint=f"ls -l {path}"
        ) from None
