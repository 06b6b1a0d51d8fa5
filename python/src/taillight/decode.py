"""From JSON to records, by the types of their fields.

The rules are serde's, by which the Rust program reads the same files: unknown fields are ignored, a
field with a default or of an optional type may be missing, any other missing field is an error.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from typing import Any, TypeVar

from .errors import DamagedError

T = TypeVar("T")

#: Deeper nesting is refused, as `serde_json` refuses it.
DEEPEST = 128


def parse(text: bytes, name: str) -> dict[str, Any]:
    """The JSON object in `text`; `name` is the file, for errors."""

    def refuse(constant: str) -> float:
        raise ValueError(f"{constant} is not JSON")

    try:
        value = json.loads(text.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{name} is not a result of Taillight: {error}") from None
    if not isinstance(value, dict):
        raise DamagedError(f"{name} is not a result of Taillight: it has no schema number")
    return value


@functools.cache
def _fields(cls: type) -> tuple[tuple[str, str, Any, bool], ...]:
    """Name, name in the file, type, and whether it must be there."""
    hints = typing.get_type_hints(cls)
    fields = []
    for field in dataclasses.fields(cls):
        if field.metadata.get("derived"):
            continue
        has_default = (
            field.default is not dataclasses.MISSING
            or field.default_factory is not dataclasses.MISSING
        )
        in_file = field.metadata.get("name", field.name)
        fields.append((field.name, in_file, hints[field.name], not has_default))
    return tuple(fields)


def record(cls: type[T], value: object, path: str) -> T:
    """The record of type `cls` at `path`."""
    if not isinstance(value, dict):
        raise DamagedError(f"{path}: expected an object, found {_kind(value)}")
    found: dict[str, Any] = {}
    for name, in_file, hint, needed in _fields(cls):  # type: ignore[arg-type]
        if in_file in value:
            found[name] = convert(hint, value[in_file], f"{path}.{in_file}")
        elif needed:
            if not _is_optional(hint):
                raise DamagedError(f"{path}: the field {in_file} is missing")
            found[name] = None
    return cls(**found)


def convert(hint: Any, value: Any, path: str) -> Any:
    """`value` as a value of the type `hint`."""
    if hint is Any:
        return value
    if hint is float:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        raise DamagedError(f"{path}: expected a number, found {_kind(value)}")
    if hint is int:
        # Every integer of the records is a count.
        if type(value) is int and 0 <= value < 1 << 64:
            return value
        raise DamagedError(f"{path}: expected a count, found {_kind(value)}")
    if dataclasses.is_dataclass(hint):
        return record(typing.cast(type, hint), value, path)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        errors: list[DamagedError] = []
        for choice in (choice for choice in arguments if choice is not type(None)):
            try:
                return convert(choice, value, path)
            except DamagedError as error:
                errors.append(error)
        raise errors[0]
    if origin is typing.Literal:
        if value not in arguments:
            raise DamagedError(f"{path}: {value!r} is not one of {', '.join(arguments)}")
        return value
    if origin is list:
        items = _expect(list, value, path)
        return [convert(arguments[0], item, f"{path}[{i}]") for i, item in enumerate(items)]
    if origin is tuple:
        items = _expect(list, value, path)
        if len(items) != len(arguments):
            raise DamagedError(f"{path}: expected {len(arguments)} values, found {len(items)}")
        pairs = enumerate(zip(arguments, items, strict=True))
        return tuple(convert(of, item, f"{path}[{i}]") for i, (of, item) in pairs)
    if origin is dict:
        entries = _expect(dict, value, path)
        return {key: convert(arguments[1], of, f"{path}.{key}") for key, of in entries.items()}
    return _expect(hint, value, path)


def _expect(kind: Any, value: Any, path: str) -> Any:
    if type(value) is not kind:
        raise DamagedError(f"{path}: expected {_NAMES[kind]}, found {_kind(value)}")
    return value


def _is_optional(hint: Any) -> bool:
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return hint is Any or (is_union and type(None) in typing.get_args(hint))


_NAMES: dict[Any, str] = {str: "a string", bool: "true or false", list: "a list", dict: "an object"}


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, (list, dict)):
        return _NAMES[type(value)]
    return repr(value)[:60]
