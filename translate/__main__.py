"""Run the command `translate` as `python -m translate`."""

from translate.program import program

if __name__ == "__main__":
    program()
