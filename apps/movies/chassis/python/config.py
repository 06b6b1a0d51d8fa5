"""What a service is told: the only argument of its program is a file of `key=value` lines."""

import pathlib
import re
from dataclasses import dataclass

NEEDED = ("service", "id", "instance", "listen", "threads", "queue", "spans", "secret", "data")
# Keys for services in other languages: accepted, and ignored here.
OTHERS = re.compile(r"optional|upstream\.[a-z-]+|cache\.[a-z]+|store\.[a-z]+|call\.[a-z-]+\.deadline_ms")
ADDRESS = re.compile(r"([0-9A-Za-z._-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})")


class ConfigError(Exception):
    """The file, the key, what was given, what it takes."""


@dataclass(frozen=True)
class Config:
    service: str
    id: int
    instance: int
    host: str
    port: int
    threads: int
    queue: int
    spans: str
    secret: str
    data: str

    @classmethod
    def read(cls, file: str) -> "Config":
        try:
            text = pathlib.Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{file}: cannot be read: {error}") from error
        return cls.parse(text, file)

    @classmethod
    def parse(cls, text: str, file: str) -> "Config":
        values = {}
        for at, line in enumerate(text.splitlines(), 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            key, equals, value = (part.strip() for part in line.partition("="))
            if not equals:
                raise ConfigError(f"{file}:{at}: `{line}` is not key=value")
            if key not in NEEDED and not OTHERS.fullmatch(key):
                raise ConfigError(f"{file}:{at}: `{key}` is not a key")
            if key in values:
                raise ConfigError(f"{file}:{at}: `{key}` is there twice")
            values[key] = value
        for key in NEEDED:
            if key not in values:
                raise ConfigError(f"{file}: `{key}` is missing")

        def number(key: str, least: int, most: int) -> int:
            given = values[key]
            if not re.fullmatch("[0-9]{1,9}", given) or not least <= int(given) <= most:
                raise ConfigError(f"{file}: `{key}` is {given}, and takes {least} to {most}")
            return int(given)

        address = ADDRESS.fullmatch(values["listen"])
        if not address or not 1 <= int(address[2]) <= 65535:
            raise ConfigError(f"{file}: `listen` is {values['listen']}, and takes HOST:PORT")
        return cls(
            service=values["service"],
            id=number("id", 0, 0xFFFF),
            instance=number("instance", 0, 0xFFFF),
            host=address[1].strip("[]"),
            port=int(address[2]),
            threads=number("threads", 1, 1024),
            queue=number("queue", 0, 65535),
            spans=values["spans"],
            secret=values["secret"],
            data=values["data"],
        )
