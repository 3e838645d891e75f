"""The server as a process of its own or as a thread of a test: loopback, bounded, and it ends when it is told to."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import uvicorn

from engine.errors import BadInput
from engine.models.base import Model
from engine.server.app import create_app
from engine.server.limits import Limits
from engine.server.protocol import impatient
from engine.server.random_model import EchoModel, RandomModel
from engine.server.service import Service
from reference.vocabulary import load_vocabulary

OWN = {"random": RandomModel, "echo": EchoModel}
START_SECONDS = 30.0


def model_named(spec: str, vocabulary: str | None = None) -> Model:
    """`random` and `echo` are made here, over any vocabulary; every other name is a model with weights."""
    if spec in OWN:
        return OWN[spec](load_vocabulary(vocabulary) if vocabulary else None)
    if vocabulary:
        raise BadInput(f"--vocab goes with --model random or echo; {spec!r} has a vocabulary of its own")
    try:
        from engine.models.registry import load_model
    except ImportError as error:
        raise BadInput(
            f"model {spec!r} needs torch and transformers ({error}); or take random or echo"
        ) from error
    return load_model(spec)


def make_server(service: Service, api_key: str | None) -> uvicorn.Server:
    """A uvicorn server that says nothing but errors and gives open answers five seconds when it stops."""
    config = uvicorn.Config(
        create_app(service, api_key),
        log_level="error",
        access_log=False,
        timeout_graceful_shutdown=5,
        limit_concurrency=service.limits.connections,
        http=impatient(service.limits.header_seconds),
        h11_max_incomplete_event_size=64 << 10,
    )
    return uvicorn.Server(config)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, so that who connects before the server runs waits for it; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen(2048)
    except OSError as error:
        bound.close()
        raise BadInput(
            f"cannot listen on {host} port {port}: {error.strerror}; take another --port"
        ) from error
    return bound


def serve(
    model: Model,
    limits: Limits,
    address: tuple[str, int],
    api_key: str | None,
    on_ready: Callable[[str], None],
) -> None:
    """Serve until the process is told to stop (SIGINT, SIGTERM); what is under way gets five seconds."""
    with contextlib.closing(listen(*address)) as bound, contextlib.suppress(KeyboardInterrupt):
        server = make_server(Service(model, limits), api_key)
        host, port = bound.getsockname()[:2]
        on_ready(f"http://{f'[{host}]' if ':' in host else host}:{port}/v1")
        server.run(sockets=[bound])


@contextlib.contextmanager
def running(model: Model, limits: Limits | None = None, api_key: str | None = None) -> Iterator[str]:
    """A server on a free loopback port for the length of the block; its base URL."""
    with serving(make_server(Service(model, limits), api_key)) as url:
        yield url


@contextlib.contextmanager
def serving(server: uvicorn.Server) -> Iterator[str]:
    """Run a server in a thread for the length of the block."""
    bound = listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + START_SECONDS
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise BadInput("the server did not start")
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        thread.join()
        bound.close()
