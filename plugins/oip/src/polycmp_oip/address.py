"""Addresses of served models: `http://host:8000/v2/models/resnet/versions/2`. Light: standard library only."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

#: Schemes, and whether each is encrypted.
SCHEMES = {"http": False, "https": True, "grpc": False, "grpcs": True}

_MODEL = re.compile(r"(?P<prefix>.*?)/v2/models/(?P<model>[^/]+)(?:/versions/(?P<version>[^/]+))?")


@dataclass(frozen=True)
class Address:
    """A server, and the model on it if the address names one.

    Attributes:
        scheme: One of `SCHEMES`.
        host: Name or number of the host; a number of IPv6 without brackets.
        port: The port.
        prefix: Path in front of `/v2`, without a slash at its end.
        model: The model's name; empty where the address names none.
        version: The model's version; empty for the server's choice.
    """

    scheme: str
    host: str
    port: int
    prefix: str = ""
    model: str = ""
    version: str = ""

    @property
    def is_grpc(self) -> bool:
        """Whether the server is asked by gRPC."""
        return self.scheme.startswith("grpc")

    @property
    def is_encrypted(self) -> bool:
        """Whether the connection is encrypted."""
        return SCHEMES[self.scheme]

    @property
    def authority(self) -> str:
        """Host and port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def server(self) -> str:
        """The address of the server alone."""
        return f"{self.scheme}://{self.authority}{self.prefix}"

    @property
    def title(self) -> str:
        """The model in words."""
        return f"model {self.model!r}" + (f" version {self.version}" if self.version else "")

    def with_model(self, model: str, version: str) -> Address:
        """Return the address of a model; a version belongs to the model that it was given with.

        Args:
            model: The model's name; empty for the one that the address names.
            version: The model's version; empty for the one that the address names, if it is the same model.
        """
        same = model in ("", self.model)
        return replace(self, model=model or self.model, version=version or (self.version if same else ""))


def parse_address(text: str) -> Address:
    """Take an address apart.

    Raises:
        ValueError: It is none, or holds what would be shown in reports and logs and must not be.
    """
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(text.strip())
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise ValueError("a server's address begins with http://, https://, grpc:// or grpcs:// and names a host")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError("an address is shown in reports, so it may hold no user, password, query or fragment")
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    if port is None:
        raise ValueError(f"an address of gRPC names the port, as {parts.scheme}://{parts.hostname}:8001 does")
    path = parts.path.rstrip("/")
    named = _MODEL.fullmatch(path)
    if named is None:
        return Address(parts.scheme, parts.hostname, port, path.removesuffix("/v2"))
    model, version = unquote(named["model"]), unquote(named["version"] or "")
    return Address(parts.scheme, parts.hostname, port, named["prefix"], model, version)
