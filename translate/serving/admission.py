"""The first steps of every route: the server, the parameters, the client, and its limits."""

from collections.abc import Sequence

from fastapi import Request

from translate.serving.access import Client
from translate.serving.bodies import Parameters, parameters
from translate.serving.errors import invalid, missing
from translate.serving.state import State


def state_of(request: Request) -> State:
    """Return the parts of the server that answers a request."""
    state: State = request.app.state.server
    return state


async def opened(request: Request) -> tuple[State, Parameters, Client]:
    """Return the server, the parameters and the client of a request; ApiError if it is not admitted."""
    state = state_of(request)
    given = await parameters(request)
    return state, given, state.access.admit(request, given)


def required(given: Parameters, name: str) -> str:
    """Return a parameter that is a text; ApiError if it is missing or empty."""
    text = given.text(name)
    if not text:
        raise missing(name)
    return text


def check_size(request: Request, texts: Sequence[str], client: Client) -> None:
    """Raise ApiError if the texts are longer than the client may send; an empty text counts as one character."""
    n_characters = sum(max(1, len(text)) for text in texts)
    request.state.characters = n_characters
    if n_characters > client.max_characters:
        raise invalid(f"Invalid request: request ({n_characters}) exceeds text limit ({client.max_characters})")
