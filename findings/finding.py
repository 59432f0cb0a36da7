"""Compare the values that a script sees with those that it states."""


def expect(what: str, seen: object, stated: object) -> None:
    """Print a value; end with exit code 1 if it is not the one stated."""
    print(f"{what}: {seen!r}")
    if seen != stated:
        raise SystemExit(f"changed: {what} was {stated!r}")
