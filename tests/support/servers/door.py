"""What clients come through to a server: a port that passes bytes on, can be shut, or gives one answer for a while."""

from __future__ import annotations

import contextlib
import select
import socket
import threading

from .processes import LOOPBACK

_PIECE = 1 << 16


class Door:
    """A port before the port of a server: open, shut (connections are refused), or with one answer to everything.

    Whatever is not open cuts the connections that there are.
    """

    def __init__(self, target: int) -> None:
        """Opens the port; `target` is that of the server."""
        self.port = 0
        self.target = target
        self._answer = b""
        self._listener: socket.socket | None = None
        self._clients: set[socket.socket] = set()
        self._changing = threading.RLock()
        self._timer: threading.Timer | None = None
        self.open()

    def open(self) -> None:
        """Passes clients on to the server."""
        with self._changing:
            self._change(None)
            self._answer = b""
            self._listen()

    def shut(self, seconds: float | None = None) -> None:
        """Refuses connections, from now on or for so many seconds."""
        with self._changing:
            self._change(seconds)
            if self._listener is not None:
                # A thread that waits in accept() would keep the port; shutdown wakes it.
                with contextlib.suppress(OSError):
                    self._listener.shutdown(socket.SHUT_RDWR)
                self._listener.close()
                self._listener = None
            self._cut()

    def answer(self, answer: bytes, seconds: float | None = None) -> None:
        """Answers every request with these bytes, from now on or for so many seconds."""
        with self._changing:
            self._change(seconds)
            self._answer = answer
            self._listen()
            self._cut()

    def _change(self, seconds: float | None) -> None:
        """Forgets when to open, or opens after so many seconds."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None:
            self._timer = threading.Timer(seconds, self.open)
            self._timer.daemon = True
            self._timer.start()

    def _listen(self) -> None:
        if self._listener is None:
            self._listener = socket.create_server((LOOPBACK, self.port), backlog=128)
            self.port = self._listener.getsockname()[1]
            threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _cut(self) -> None:
        for client in list(self._clients):
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self._clients.add(client)
        try:
            with client, contextlib.suppress(OSError):
                if self._answer:
                    client.recv(_PIECE)
                    client.sendall(self._answer)
                    client.shutdown(socket.SHUT_WR)
                    while client.recv(_PIECE):
                        pass
                    return
                with socket.create_connection((LOOPBACK, self.target)) as server:
                    _pass_on(client, server)
        finally:
            self._clients.discard(client)


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    """Passes bytes both ways until either side ends."""
    while True:
        for reader in select.select([one, other], [], [])[0]:
            piece = reader.recv(_PIECE)
            if not piece:
                return
            (other if reader is one else one).sendall(piece)
