"""The IDL as Thrift's compiler makes it for Python: messages, and values as those of contract.toml."""

import importlib
import pathlib
import subprocess
import sys

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.transport.TTransport import TMemoryBuffer


class Idl:
    def __init__(self, file: pathlib.Path, folder: pathlib.Path):
        folder.mkdir()
        subprocess.run(["thrift", "-r", "--gen", "py", "-out", folder, file], check=True)
        sys.path.insert(0, str(folder))
        self.types = importlib.import_module("movies_idl.ttypes")
        self.enums = {}
        for kind in vars(self.types).values():
            if hasattr(kind, "_NAMES_TO_VALUES"):
                self.enums.update(kind._NAMES_TO_VALUES)

    def method(self, service: str, name: str):
        """The classes of its arguments and its result."""
        for module in (importlib.import_module(f"movies_idl.{service}"), importlib.import_module("movies_idl.Chassis")):
            if hasattr(module, f"{name}_args"):
                return getattr(module, f"{name}_args"), getattr(module, f"{name}_result")
        raise KeyError(f"{service} has no method {name}")

    def fields(self, cls):
        return [entry for entry in cls.thrift_spec or () if entry]

    def code(self, number: int) -> str:
        return self.types.Code._VALUES_TO_NAMES.get(number, str(number))

    # Values of contract.toml to those of Thrift, and back.

    def to_thrift(self, kind, more, value):
        if kind == TType.STRUCT:
            if not isinstance(value, dict):
                raise ValueError(f"{value!r} where a structure {more[0].__name__} is expected")
            known = {entry[2]: entry for entry in self.fields(more[0])}
            for name in value:
                if name not in known:
                    raise ValueError(f"{more[0].__name__} has no field `{name}`")
            return more[0](**{name: self.to_thrift(known[name][1], known[name][3], one) for name, one in value.items()})
        if kind == TType.LIST:
            return [self.to_thrift(more[0], more[1], one) for one in value]
        if kind == TType.MAP:
            return {self.to_thrift(more[0], more[1], key): self.to_thrift(more[2], more[3], one) for key, one in value.items()}
        if kind == TType.STRING and more == "BINARY":
            return value.encode() if isinstance(value, str) else bytes(value)
        if kind == TType.STRING:
            return value.decode() if isinstance(value, bytes) else str(value)
        if kind == TType.I32 and isinstance(value, str):
            return self.enums[value]
        if kind == TType.DOUBLE:
            return float(value)
        if kind == TType.BOOL:
            return bool(value)
        return int(value)

    def to_plain(self, value):
        if hasattr(value, "thrift_spec"):
            return {name: self.to_plain(one) for _, _, name, *_ in self.fields(type(value)) if (one := getattr(value, name)) is not None}
        if isinstance(value, list):
            return [self.to_plain(one) for one in value]
        return value

    def arguments(self, cls, given):
        fields = self.fields(cls)
        if isinstance(given, list):
            if len(given) > len(fields):
                raise ValueError(f"{len(given)} arguments for {cls.__name__}, which has {len(fields)}")
            given = dict(zip((entry[2] for entry in fields), given))
        return self.to_thrift(TType.STRUCT, (cls, None), given)

    # Messages.

    @staticmethod
    def message(name: str, kind: int, sequence: int, body) -> bytes:
        out = TMemoryBuffer()
        protocol = TBinaryProtocol(out)
        protocol.writeMessageBegin(name, kind, sequence)
        body.write(protocol)
        protocol.writeMessageEnd()
        return out.getvalue()

    def call(self, service: str, name: str, sequence: int, given) -> bytes:
        cls, _ = self.method(service, name)
        return self.message(name, TMessageType.CALL, sequence, self.arguments(cls, given))

    def open(self, message: bytes):
        """Name, type, sequence, and a function that reads a class after these."""
        transport = TMemoryBuffer(message)
        protocol = TBinaryProtocol(transport, strictRead=True, string_length_limit=len(message), container_length_limit=len(message))
        name, kind, sequence = protocol.readMessageBegin()

        def rest(cls):
            value = cls()
            value.read(protocol)
            return value

        return name, kind, sequence, rest

    def answer(self, service: str, message: bytes):
        """Name, sequence, and what came: ("result", value), ("refused", {code, what}) or ("exception", type, text)."""
        name, kind, sequence, rest = self.open(message)
        if kind == TMessageType.EXCEPTION:
            error = rest(TApplicationException)
            return name, sequence, ("exception", error.type, error.message or "")
        if kind != TMessageType.REPLY:
            raise ValueError(f"a message of type {kind} where an answer is expected")
        result = rest(self.method(service, name)[1])
        if getattr(result, "refused", None) is not None:
            return name, sequence, ("refused", {"code": self.code(result.refused.code), "what": result.refused.what})
        if not self.fields(type(result)) or not hasattr(result, "success"):
            return name, sequence, ("result", "VOID")
        if result.success is None:
            return name, sequence, ("empty", None)
        return name, sequence, ("result", self.to_plain(result.success))

    def result(self, service: str, name: str, value):
        """A structure to answer with."""
        result = self.method(service, name)[1]()
        if hasattr(result, "success"):
            entry = next(entry for entry in self.fields(type(result)) if entry[2] == "success")
            result.success = self.to_thrift(entry[1], entry[3], value)
        elif value != "VOID":
            raise ValueError(f"{service}.{name} has no result; write \"VOID\"")
        return result

    def refusal(self, service: str, name: str, code: str, what: str):
        result = self.method(service, name)[1]()
        result.refused = self.types.Refused(code=self.enums[code], what=what)
        return result
