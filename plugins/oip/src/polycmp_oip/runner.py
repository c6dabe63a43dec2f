"""The runner: asks a served model, over one connection, for the outputs of each feed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from polycmp.errors import BackendError, DataError, UsageError
from polycmp.loader import resolve
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata, dtype_name, format_shape, to_numpy
from polycmp_oip.address import Address, parse_address
from polycmp_oip.client import Client
from polycmp_oip.credentials import read_credentials
from polycmp_oip.neighbours import Neighbours
from polycmp_oip.plugin import Options

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle


class OipRunner(Runner):
    """Runs a model that is behind an inference server.

    Args:
        address: Address of the server, or of a model on it, `http://host:8000/v2/models/NAME`, or a callable that
            returns it; empty where the options have it.
        name: The label in reports.
        options: Server, model, headers, certificates; by default those of the command line.
        model: Name of the model where neither address nor options have it, or a callable that returns it, as the loader
            of a file does.
    """

    outputs_stay_valid = True

    def __init__(self, address: Any = "", name: str = "", options: Options | None = None, model: Any = "") -> None:
        super().__init__(name)
        self.address, self.model = address, model
        self._options = options or Options()

    def activate_impl(self) -> None:
        """Connect, and ask what the model takes and gives.

        Raises:
            UsageError: No server, or no model on it, is named.
            DataError: A header or a certificate cannot be read.
            BackendError: There is no such model, or no answer.
        """
        self.notes.clear()
        address = self._address()
        client = _open_client(address, self._options, self.name)
        try:
            server = client.server()
            self._description = client.model()
        except BaseException:
            client.close()
            raise
        self._client, self._server = client, address.server
        self._neighbours = (
            Neighbours(self._options.among, self._ask, self._description.inputs) if self._options.among else None
        )
        self.backend_version = " ".join(filter(None, (server.name, server.version)))
        if self._options.insecure:
            self.notes.append("whose certificate the server has was not checked")

    def _address(self) -> Address:
        options = self._options
        text = options.url or resolve(self.address)
        if not text:
            raise UsageError("no server is named", whose=self.name, hint="-b oip:url=http://HOST:8000,model_name=NAME")
        try:
            address = parse_address(text)
        except ValueError as error:
            raise UsageError("no address of a server", whose=self.name, why=str(error)) from None
        model = options.model_name or address.model or resolve(self.model)
        address = address.with_model(model, options.model_version)
        if not address.model:
            raise UsageError(
                f"no model on {address.server} is named",
                whose=self.name,
                hint=f"-b oip:url={address.server}/v2/models/NAME; `model=` would name another file for this backend",
            )
        return address

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs that the server says the model takes."""
        return self._description.inputs

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs for one feed.

        Raises:
            BackendError: The server does not answer, refuses the request, or leaves an output out.
        """
        arrays = {name: to_numpy(array) for name, array in feed_dict.items()}
        if self._neighbours is None:
            return self._ask(arrays)
        start = time.perf_counter()
        alone = self._ask(arrays)
        self.inference_time = time.perf_counter() - start
        return self._neighbours.infer(arrays, alone)

    def _ask(self, arrays: dict[str, Any]) -> dict[str, Any]:
        declared = self._description.outputs
        answered = self._client.infer(arrays, declared)
        missing = [name for name in declared if name not in answered]
        if missing:
            raise BackendError(
                f"{self._server} leaves output {missing[0]!r} out of its answer",
                why=f"it has {', '.join(answered) or 'none'}",
                hint="look into the server's log",
            )
        for name, entry in declared.items():
            array = answered[name]
            if array.dtype != entry.dtype or not entry.accepts_shape(array.shape):
                came = f"{dtype_name(array.dtype)}{format_shape(array.shape)}"
                self._note(f"the server declares output {name!r} as {entry}, and it comes as {came}")
        return {name: answered[name] for name in declared or answered}

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def deactivate_impl(self) -> None:
        """Close the connection, and note what neighbours changed."""
        if self._neighbours is not None:
            self._neighbours.close()
            self.notes += self._neighbours.notes()
        self._client.close()
        del self._client


def _open_client(address: Address, options: Options, whose: str) -> Client:
    credentials = read_credentials(options, whose)
    try:
        if address.is_grpc:
            from polycmp_oip.grpc_client import GrpcClient

            return GrpcClient(address, options, credentials)
        from polycmp_oip.http_client import HttpClient

        return HttpClient(address, options, credentials)
    except DataError as error:
        raise DataError(error.what, whose=whose, why=error.why, hint=error.hint) from error.__cause__


def make_runner(model: ModelHandle, options: Options | None, *, name: str) -> OipRunner:
    """Return the runner for a model; the core calls this with the options given on the command line.

    A file of another kind stands for the model that runs elsewhere, and is not read.

    Args:
        model: The model handle.
        options: The backend's options.
        name: The label in reports.
    """
    if model.kind == "oip":
        return OipRunner(name=name, options=options, model=model.load("oip"))
    return OipRunner(name=name, options=options)
