"""The files that a command reads and writes."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from translate.errors import UserError


@dataclass(frozen=True)
class Paths:
    """Input and output of a translation.

    Attributes:
        source, output: files to read and write; None is stdin or stdout.
        force: overwrite an existing output file.
        resume: write the output in place, and continue where an earlier process stopped.
    """

    source: Path | None = None
    output: Path | None = None
    force: bool = False
    resume: bool = False

    def check(self, sentences: Sequence[str]) -> None:
        """Raise UserError if the files contradict each other or the `sentences`, or would overwrite something."""
        if sentences and self.source:
            raise UserError("sentences and --input exclude each other; leave one out")
        if self.resume and (self.source is None or self.output is None):
            raise UserError("--resume works from a file to a file; name both with --input and --output")
        if self.output is None:
            return
        exists = self.output.exists()
        if self.source and exists and self.source.exists() and os.path.samefile(self.source, self.output):
            raise UserError(f"{self.output}: is the input too; name another file with --output")
        if self.output.is_dir():
            raise UserError(f"{self.output}: is a folder; name a file with --output")
        if self.resume and ((exists and not self.output.is_file()) or (self.source and not self.source.is_file())):
            raise UserError("--resume needs regular files; leave it out for pipes and devices")
        if self.output.is_file() and not self.force and not self.resume:
            raise UserError(f"{self.output}: exists already; name another file, or add --force to overwrite it")
