"""Run the server: one process, or several worker processes on one socket."""

import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from pydantic import TypeAdapter
from uvicorn.supervisors import Multiprocess

from translate.errors import UserError
from translate.machine import set_up_threads
from translate.serving.app import create_app, trusts_every_proxy
from translate.serving.limits import BURST, Connection
from translate.serving.observing import SHARED, set_up_log
from translate.serving.settings import ServeOptions

_ENVIRONMENT = "TRANSLATE_SERVE"  # variable with the arguments of `create_app` for worker processes
_PATIENCE = 30  # seconds for a worker to answer its parent; a new one may import libraries for more than uvicorn's 5
_ARGUMENTS: TypeAdapter[tuple[ServeOptions, Path]] = TypeAdapter(tuple[ServeOptions, Path])


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that waits for connections; UserError if the address cannot be used."""
    if not host:  # would be all addresses
        raise UserError("--host: is empty; name an address to listen on, or 0.0.0.0 for all")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError, TypeError) as error:  # TypeError for a name that IDNA cannot encode
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{host}:{port}: {reason}; choose another address with --host and --port") from error


def address(listener: socket.socket) -> str:
    """Return the URL of a socket that waits for connections."""
    host, port, *_ = listener.getsockname()
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


class Workers(Multiprocess):
    """Worker processes, which end when the terminal is closed, instead of being replaced."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket]) -> None:
        self._ignores_hangup = _ignores_hangup()
        super().__init__(config, sockets)

    def handle_hup(self) -> None:
        """Stop, unless the server was started with nohup."""
        if not self._ignores_hangup:
            self.handle_term()


def _ignores_hangup() -> bool:
    return not hasattr(signal, "SIGHUP") or signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def _stop_at_hangup() -> None:
    """Take SIGHUP, as from a terminal that is closed, as SIGTERM, unless nohup has it ignored."""
    if not _ignores_hangup():
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))


def serve(options: ServeOptions, folder: Path, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until SIGTERM, SIGHUP or Ctrl-C, then finish the requests in progress.

    Args:
        options, folder: as for `create_app`.
        listener: the socket, which is closed at the end.
        ready: called before the first request is accepted.

    Raises UserError if a model cannot be served.
    """
    # uvicorn raises the signal again when it has stopped; a stop that was asked for is no failure.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    _stop_at_hangup()
    if options.workers == 1:
        config = configuration(create_app(options, folder), options)
        ready()
        uvicorn.Server(config).run(sockets=[listener])
        return
    os.environ[_ENVIRONMENT] = _ARGUMENTS.dump_json((options, folder)).decode()
    shared = folder / "metrics"
    shared.mkdir(parents=True, exist_ok=True)
    os.environ[SHARED] = str(shared)
    config = configuration("translate.serving.server:worker_app", options)
    ready()
    Workers(config, sockets=[listener]).run()


def worker_app() -> FastAPI:
    """Return the application of a worker process."""
    _stop_at_hangup()
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    set_up_threads()
    set_up_log()
    return create_app(*_ARGUMENTS.validate_json(os.environ[_ENVIRONMENT]))


def _stop_with_parent() -> None:
    """Stop this worker when its parent was killed, or it would go on and keep the address."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def configuration(app: FastAPI | str, options: ServeOptions) -> uvicorn.Config:
    """Return the configuration of uvicorn; also sends its messages to the log."""
    set_up_log()
    trusts_all = trusts_every_proxy(options)
    return uvicorn.Config(
        app,
        factory=isinstance(app, str),
        workers=options.workers,
        http=Connection,
        backlog=BURST,
        ws="none",
        root_path=options.url_prefix,
        log_config=None,
        access_log=False,  # it would contain the query
        server_header=False,
        proxy_headers=options.proxy is not None and not trusts_all,
        forwarded_allow_ips=options.proxy,
        timeout_graceful_shutdown=options.grace,
        timeout_worker_healthcheck=_PATIENCE,
    )
