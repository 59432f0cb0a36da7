"""The files that a command reads and writes."""

import os
from pathlib import Path

from translate.errors import UserError
from translate.options.translating import Translating


def check_page(page: Path, *, force: bool) -> None:
    """Raise UserError unless a page can be written to this file; an existing one needs `force`."""
    if page.is_dir():
        raise UserError(f"{page}: is a folder; name a file")
    if page.exists() and not force:
        raise UserError(f"{page}: exists already; name another file, or add --force to overwrite it")
    if not page.parent.is_dir():
        raise UserError(f"{page}: its folder does not exist; make {page.parent} first")


def check_paths(options: Translating, *, resume: bool = False) -> None:
    """Raise UserError if the files contradict each other or the sentences, or would overwrite something.

    With `resume`, the output is written in place, from where an earlier process stopped.
    """
    source, output = options.input, options.output
    if options.sentences and source:
        raise UserError("sentences and --input exclude each other; leave one out")
    if resume and (source is None or output is None):
        raise UserError("--resume works from a file to a file; name both with --input and --output")
    if output is None:
        return
    exists = output.exists()
    if source and exists and source.exists() and os.path.samefile(source, output):
        raise UserError(f"{output}: is the input too; name another file with --output")
    if output.is_dir():
        raise UserError(f"{output}: is a folder; name a file with --output")
    if resume and ((exists and not output.is_file()) or (source and not source.is_file())):
        raise UserError("--resume needs regular files; leave it out for pipes and devices")
    if output.is_file() and not options.force and not resume:
        raise UserError(f"{output}: exists already; name another file, or add --force to overwrite it")
