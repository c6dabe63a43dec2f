"""The protocol's messages for gRPC: those fields that this client writes or reads, with their numbers.

They are made when the first gRPC server is asked, from this table instead of code that protoc generates: such code runs
only with releases of protobuf near its own, and tritonclient, which has it, forbids protobuf 7.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "inference"
#: Message -> field -> number and type: a name of protobuf's, or another message of the table; `*` for several.
_MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "ServerMetadataRequest": {},
    "ServerMetadataResponse": {"name": (1, "string"), "version": (2, "string"), "extensions": (3, "*string")},
    "ServerReadyRequest": {},
    "ServerReadyResponse": {"ready": (1, "bool")},
    "ModelReadyRequest": {"name": (1, "string"), "version": (2, "string")},
    "ModelReadyResponse": {"ready": (1, "bool")},
    "ModelMetadataRequest": {"name": (1, "string"), "version": (2, "string")},
    "ModelMetadataResponse": {"inputs": (4, "*Tensor"), "outputs": (5, "*Tensor")},
    "RepositoryIndexRequest": {},
    "RepositoryIndexResponse": {"models": (1, "*ModelIndex")},
    "ModelIndex": {"name": (1, "string")},
    "ModelInferRequest": {
        "model_name": (1, "string"), "model_version": (2, "string"), "inputs": (5, "*Tensor"), "outputs": (6, "*Asked"),
        "raw_input_contents": (7, "*bytes"),
    },
    "ModelInferResponse": {"outputs": (5, "*Tensor"), "raw_output_contents": (6, "*bytes")},
    "Asked": {"name": (1, "string")},
    "Tensor": {"name": (1, "string"), "datatype": (2, "string"), "shape": (3, "*int64"), "contents": (5, "Contents")},
    "Contents": {
        "bool_contents": (1, "*bool"), "int_contents": (2, "*int32"), "int64_contents": (3, "*int64"),
        "uint_contents": (4, "*uint32"), "uint64_contents": (5, "*uint64"), "fp32_contents": (6, "*float"),
        "fp64_contents": (7, "*double"), "bytes_contents": (8, "*bytes"),
    },
}  # fmt: skip


@cache
def messages() -> dict[str, Any]:
    """Return the class of each message, by its name."""
    file = descriptor_pb2.FileDescriptorProto(name="polycmp_oip.proto", package=PACKAGE, syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    for message, fields in _MESSAGES.items():
        described = file.message_type.add(name=message)
        for name, (number, kind) in fields.items():
            field = described.field.add(name=name, number=number)
            field.label = kinds.LABEL_REPEATED if kind.startswith("*") else kinds.LABEL_OPTIONAL
            if kind.lstrip("*") in _MESSAGES:
                field.type, field.type_name = kinds.TYPE_MESSAGE, f".{PACKAGE}.{kind.lstrip('*')}"
            else:
                field.type = getattr(kinds, f"TYPE_{kind.lstrip('*').upper()}")
    pool = (
        descriptor_pool.DescriptorPool()
    )  # one of its own: other clients describe the same messages in the common one
    pool.Add(file)
    names = {name: pool.FindMessageTypeByName(f"{PACKAGE}.{name}") for name in _MESSAGES}
    return {name: message_factory.GetMessageClass(descriptor) for name, descriptor in names.items()}
