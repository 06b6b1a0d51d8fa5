"""Files of data of which the newest by name counts, such as `00000007.ads`; read again when a newer one appears."""

import pathlib
import threading
import time

# How often is looked for a newer one. Units: s.
LOOK = 5.0


class Newest:
    """`value`: of the newest file; one that cannot be read is left out, with a line in the log, and the one before stays."""

    def __init__(self, folder: str, ending: str, read, log, nothing):
        self._folder, self._ending, self._read, self._log = pathlib.Path(folder), ending, read, log
        self._name, self.value = "", nothing
        self._look()
        threading.Thread(target=self._look_often, daemon=True).start()

    def _look(self) -> None:
        names = sorted((file.name for file in self._folder.glob(f"*{self._ending}") if file.name > self._name), reverse=True)
        for name in names:
            try:
                self.value = self._read(self._folder / name)
            except (OSError, ValueError) as error:
                self._log.error("a file cannot be read", file=name, error=str(error))
                continue
            self._name = name
            self._log.info("a file is used from now on", file=name)
            return

    def _look_often(self) -> None:
        while True:
            time.sleep(LOOK)
            self._look()
