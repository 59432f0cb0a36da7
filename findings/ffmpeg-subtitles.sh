#!/usr/bin/env bash
# FFmpeg writes codes of ASS into SubRip and WebVTT: a no-break space of WebVTT becomes "\h", a brace "\{{}".
#
# Guess: "&nbsp;" and "&lt;" of WebVTT are a no-break space and "<" in SubRip, and FFmpeg marks "<" and "&" again when it
#        writes WebVTT. A text with braces in SubRip stays as it is. Of "<" and "\" in SubRip no guess was
#        written.
# Miss:  FFmpeg turns every subtitle into ASS and back, and the way back knows little more than line breaks and tags. So
#        viewers and translators read "10\hEuro" and "\{{}1}", and a copy of a WebVTT file has "<" as it is, which
#        begins a tag there. In SubRip, "a < b und c > d" is a tag <b> for it: the words between are lost, and the rest
#        is bold. "C:\neu" is two lines. Braces of SubRip do stay.
. "$(dirname "$0")/environment.sh" imageio-ffmpeg==0.8.1
python - <<'PYTHON'
import subprocess

import imageio_ffmpeg
from finding import expect

TIME = {"srt": "1\n00:00:01,000 --> 00:00:02,000", "vtt": "WEBVTT\n\n00:01.000 --> 00:02.000"}

def converted(text, source, target):
    """Return the lines of a cue after a conversion."""
    with open(f"first.{source}", "w", encoding="utf-8") as file:
        file.write(f"{TIME[source]}\n{text}\n\n")
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-y", "-i", f"first.{source}", f"second.{target}"]
    subprocess.run(command, check=True)
    lines = open(f"second.{target}", encoding="utf-8").read().strip().split("\n")
    return lines[next(i for i, line in enumerate(lines) if "-->" in line) + 1 :]

print("FFmpeg", imageio_ffmpeg.get_ffmpeg_version())
for target in ("srt", "vtt"):
    expect(f"space, {target}", converted("10&nbsp;Euro", "vtt", target), [r"10\hEuro"])
    expect(f"brace, {target}", converted("{1}", "vtt", target), [r"\{{}1}"])
expect("signs of WebVTT", converted("a &lt; b &amp; c", "vtt", "vtt"), ["a < b & c"])
expect("signs of SubRip", converted("a < b & c", "srt", "vtt"), ["a < b & c"])
expect("two signs", converted("a < b und c > d", "srt", "srt"), ["a <b> d</b>"])
expect("backslash", converted(r"C:\neu", "srt", "srt"), ["C:", "eu"])
expect("braces of SubRip", converted("{1, 2}", "srt", "srt"), ["{1, 2}"])
PYTHON
