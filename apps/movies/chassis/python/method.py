"""Messages of the strict binary protocol: which method a call names, its arguments, its answer."""

import sys

from thrift.protocol.TBinaryProtocol import TBinaryProtocol, TBinaryProtocolAccelerated
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.transport.TTransport import TMemoryBuffer

from chassis.frame import BadFrame

# Elements of a list among the arguments: more would keep a thread busy with a few bytes. No method takes more than 100.
MOST_ELEMENTS = 65536


class Method:
    """A method of the IDL with the classes that the compiler made of it."""

    def __init__(self, service, name: str, place: int, call):
        """`place`: among the methods of the service in the registry; None for those that are not traced."""
        for owner in (sys.modules[base.__module__] for base in service.Iface.__mro__[:-1]):
            if hasattr(owner, f"{name}_args"):
                self.arguments, self.result = getattr(owner, f"{name}_args"), getattr(owner, f"{name}_result")
                break
        else:
            raise ValueError(f"{service.__name__} has no method {name}")
        self.name, self.place, self.call = name, place, call
        self.fields = [field[2] for field in self.arguments.thrift_spec or () if field]


class Call:
    """A message that arrived: its name and sequence first, then its arguments."""

    def __init__(self, message: memoryview):
        self._in = TBinaryProtocol(TMemoryBuffer(bytes(message)), strictRead=True,
                                   string_length_limit=len(message), container_length_limit=MOST_ELEMENTS)
        try:
            self.name, kind, self.sequence = self._in.readMessageBegin()
        except Exception as error:  # the library's exceptions are of many types
            raise BadFrame(f"not a message: {error}") from error
        if kind not in (TMessageType.CALL, TMessageType.ONEWAY):
            raise BadFrame(f"a message of type {kind}")

    def arguments(self, method: Method) -> list:
        values = method.arguments()
        try:
            values.read(self._in)
            return [getattr(values, name) for name in method.fields]
        except Exception as error:  # also RecursionError, for structures in structures
            raise BadFrame(f"not the arguments of {self.name}: {error}") from error

    def skip(self) -> None:
        try:
            self._in.skip(TType.STRUCT)
        except Exception as error:
            raise BadFrame(f"not arguments: {error}") from error


def _message(name: str, kind: int, sequence: int, body) -> bytes:
    out = TMemoryBuffer()
    protocol = TBinaryProtocolAccelerated(out)
    protocol.writeMessageBegin(name, kind, sequence)
    body.write(protocol)
    protocol.writeMessageEnd()
    return out.getvalue()


def answer(call: Call, result) -> bytes:
    return _message(call.name, TMessageType.REPLY, call.sequence, result)


def refusal(call: Call, kind: int, text: str) -> bytes:
    return _message(call.name, TMessageType.EXCEPTION, call.sequence, TApplicationException(kind, text))
