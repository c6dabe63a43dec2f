"""Light module that the core reads for this backend's name, options and needs; no heavy import."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polycmp.spec import LoaderSpec, RunnerSpec, RunnerTools, hookimpl, opt
from polycmp_oip.address import parse_address

_HEADER_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)


@dataclass(frozen=True)
class Options:
    """Options of the backend `oip`. What they name is shown in reports; what headers hold is in files or variables."""

    url: str = opt(
        "",
        help="Address of the server, or of a model on it: http://host:8000, grpc://host:8001, "
        "https://host/v2/models/NAME.",
        metavar="URL",
        executes=True,  # inputs, headers and files of certificates go where it says: nobody else may choose that
    )
    model_name: str = opt("", help="Name of the model on the server, if the address does not say it.", metavar="NAME")
    model_version: str = opt("", help="Version of the model; by default the server's choice.", metavar="VERSION")
    timeout: float = opt(60.0, help="Seconds to wait for one answer.", metavar="SECONDS")
    among: int = opt(
        0,
        help="Send every request alone and beside others, N together, and say whether its results depend on them.",
        alias="--among",
        metavar="N",
    )
    tensors: str = opt(
        "auto",
        help="Form of tensors over HTTP: bytes where the server says that it takes them, else json.",
        choices=("auto", "bytes", "json"),
    )
    header_env: Mapping[str, str] = opt(
        {},
        help="Headers of every request, each with the environment variable that holds its value: "
        "Authorization:TOKEN_VARIABLE.",
        metavar="HEADER:VARIABLE",
    )
    header_file: Mapping[str, str] = opt(
        {},
        help="Headers of every request, each with the file that holds its value: Authorization:token.txt.",
        metavar="HEADER:FILE",
    )
    ca_file: str = opt("", help="Certificates to trust, in PEM, in place of the system's.", metavar="FILE")
    certificate: str = opt("", help="Certificate of this client, in PEM.", metavar="FILE")
    key: str = opt("", help="Key of that certificate, if it is in another file.", metavar="FILE")
    insecure: bool = opt(False, help="Do not check whose certificate the server has (https only).")

    def __post_init__(self) -> None:
        if self.url:
            address = parse_address(self.url)
            if self.insecure and address.is_grpc:
                raise ValueError("gRPC always checks certificates: give ca_file=FILE in place of insecure")
        if not 0 < self.timeout < float("inf"):
            raise ValueError(f"timeout must be a number of seconds above 0, not {self.timeout}")
        if self.among < 0 or self.among == 1:
            raise ValueError(f"among counts the request and its neighbours, so it is at least 2, not {self.among}")
        if self.key and not self.certificate:
            raise ValueError("key needs certificate, whose key it is")
        wrong = [name for name in (*self.header_env, *self.header_file) if not _HEADER_NAME.fullmatch(name)]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is no name of a header, such as in [Authorization:VARIABLE]")
        both = sorted({name.lower() for name in self.header_env} & {name.lower() for name in self.header_file})
        if both:
            raise ValueError(f"the header {both[0]} is given twice, by header_env and by header_file")


class OipTools(RunnerTools):
    """A server shows nothing but outputs."""

    runs_parts = False
    aliases = ("kserve", "triton", "tritonserver", "mlserver", "ovms")


@hookimpl
def polycmp_runners() -> Iterator[RunnerSpec]:
    """Contribute the backend `oip`."""
    yield RunnerSpec(
        name="oip",
        summary="Model on an inference server: Triton, KServe, OpenVINO Model Server, MLServer",
        factory="polycmp_oip.runner:make_runner",
        options=Options,
        accepts=("oip", "onnx"),  # of any other file, too, it runs what is on the server
        needs=("urllib3",),
        tools="polycmp_oip.plugin:OipTools",
    )


@hookimpl
def polycmp_loaders() -> Iterator[LoaderSpec]:
    """Contribute the reader of files that stand for a served model."""
    yield LoaderSpec(
        name="oip",
        summary="Name of a served model in a text file",
        factory="polycmp_oip.served:make_loader",
        suffixes=(".oip",),
        produces="oip",
    )
