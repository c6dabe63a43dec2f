"""What the clients of both transports have in common: what they return, and the errors of servers in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from polycmp.errors import BackendError, did_you_mean
from polycmp.tensors import ModelDescription, TensorMetadata
from polycmp_oip.address import Address
from polycmp_oip.tensors import element_type

Arrays = Mapping[str, NDArray[Any]]

#: Characters of a server's text that an error shows.
_LONGEST = 400


@dataclass(frozen=True)
class Server:
    """What a server says of itself.

    Attributes:
        name: Name of the program.
        version: Its release.
        extensions: Extensions of the protocol that it has.
    """

    name: str = ""
    version: str = ""
    extensions: tuple[str, ...] = ()


class Client(Protocol):
    """A connection to one model; every call sends one request, and raises `BackendError` where it is not answered."""

    def server(self) -> Server:
        """Return what the server says of itself."""
        ...

    def model(self) -> ModelDescription:
        """Return inputs and outputs of the model, which is ready."""
        ...

    def infer(self, inputs: Arrays, outputs: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Run the model; may be called by several threads at once.

        Args:
            inputs: Arrays by the names of the model's inputs.
            outputs: Outputs to ask for; none for all that the server gives.
        """
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


def describe(tensors: Iterable[tuple[str, str, Iterable[Any]]], role: str) -> TensorMetadata:
    """Return names, types and shapes of tensors.

    Args:
        tensors: Name, type and shape of each as the server says them.
        role: What they are, for errors: `input`.

    Raises:
        ValueError: A type is none of the protocol's, or a shape is none.
    """
    metadata = TensorMetadata()
    for name, datatype, shape in tensors:
        try:
            dims = [int(dim) for dim in shape]
        except (TypeError, ValueError):
            raise ValueError(f"{role} {name!r} has the shape {shape!r}, which is none") from None
        metadata.add(name, element_type(datatype, f"{role} {name!r}"), [dim if dim >= 0 else -1 for dim in dims])
    return metadata


def no_inputs(address: Address) -> BackendError:
    """Return the error for a server that does not say what a model takes."""
    return BackendError(
        f"{address.server} does not say which inputs model {address.model!r} takes",
        hint="declare its inputs and outputs on the server (MLServer: in model-settings.json)",
    )


def other_names(address: Address, known: Collection[str]) -> str:
    """Return in words which models a server has in place of one; empty where it lists none, or that one itself."""
    return did_you_mean(address.model, known) if known and address.model not in known else ""


def shortened(text: str) -> str:
    """Return a text of a server's as one line that is not too long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} … ({len(line)} characters)"
