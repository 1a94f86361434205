"""The terminal of a program that takes single keys: as it was before on every way out, and signals that end it once."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator

ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop(KeyboardInterrupt):
    """Ctrl-C, TERM or a hang-up arrived."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class Keyboard:
    """The terminal, giving keys without Enter inside the `with`, and as it was before after it and while the program is suspended."""

    def __init__(self, fd: int) -> None:
        self.fd, self.resumed = fd, False

    def __enter__(self) -> Keyboard:
        import termios

        self._before = termios.tcgetattr(self.fd)
        self._handler = signal.signal(signal.SIGTSTP, self._suspend)
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        self._give_back()
        signal.signal(signal.SIGTSTP, self._handler)

    def _take(self) -> None:
        import termios
        import tty

        tty.setcbreak(self.fd, termios.TCSANOW)

    def _give_back(self) -> None:
        import termios

        with contextlib.suppress(termios.error):  # the terminal itself may be gone
            termios.tcflush(self.fd, termios.TCIFLUSH)
            termios.tcsetattr(self.fd, termios.TCSANOW, self._before)

    def _suspend(self, number: int, frame: object) -> None:
        self._give_back()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # sleeps here until `fg`
        signal.signal(number, self._suspend)
        self._take()
        self.resumed = True

    def read(self) -> str:
        """The keys that were pressed. An arrow or a function key is no key of ours; a closed terminal is a quit."""
        try:
            data = os.read(self.fd, 256)
        except OSError:
            data = b""
        if not data:
            return "q"
        return "" if data.startswith(b"\x1b") else data.decode("ascii", "ignore").lower()


def ignore_ends() -> None:
    """Called before cleaning up: a closed terminal is an end of input and a hang-up at once."""
    for each in ENDS:
        signal.signal(each, signal.SIG_IGN)


@contextlib.contextmanager
def orderly_end() -> Iterator[None]:
    """The first Ctrl-C, TERM or hang-up raises Stop; what comes after it no longer disturbs the cleaning up."""

    def stop(number: int, frame: object) -> None:
        ignore_ends()
        raise Stop(number)

    before = {each: signal.signal(each, stop) for each in ENDS if each != signal.SIGHUP or signal.getsignal(each) != signal.SIG_IGN}  # nohup
    try:
        yield
    except Stop:
        raise  # the process ends now, and ignores them until it has
    except BaseException:
        _put_back(before)
        raise
    else:
        _put_back(before)


def _put_back(handlers: dict) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def at_a_terminal() -> bool:
    """Whether someone sits there: in and out are a terminal, and this program is in its foreground."""
    if os.name == "nt" or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    with contextlib.suppress(OSError):
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    return False
