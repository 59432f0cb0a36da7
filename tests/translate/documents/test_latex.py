"""LaTeX: prose changes, and macros, formulas and code stay."""

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.growth import grows_linearly
from tests.translate.documents.stubs import translated as translated_as
from tests.translate.documents.translators import marked, texts, translated, unchanged, upper
from translate.documents.document import Reading
from translate.errors import UserError

pytest.importorskip("pylatexenc", reason="pylatexenc is not installed")

BODY = r"""\maketitle
\section{One}\label{sec:One}
Hello \textbf{world}, see~\cite{Key} and $a+b$. % Comment
New line \foo{X}{y} -- y.

Second.\footnote{A note, \emph{really}.} \verb|x Y| with 5\% of M\"uller \& Co.
We have
\[ x \]
where ``x'' is {\bf bold}.
\begin{itemize}
  \item First
  \item[Term] Second one
\end{itemize}
\begin{tabular}{ll} Cell & cell two \\ \multicolumn{2}{l}{wide} & 4 \end{tabular}
\begin{lstlisting}
Code { $ % not LaTeX
\end{lstlisting}
\begin{figure}[h]\includegraphics[width=2cm]{A.png}\caption[Short]{A picture}\end{figure}
"""
HEAD = "\\documentclass{article}\n\\usepackage[a4paper]{geometry}\n\\title{A title}\n\\author{Me}\n\\begin{document}\n"
DATA = f"{HEAD}{BODY}\\end{{document}}\nAfter\n".encode()

TEXTS = [
    "A title",
    "One",
    "Hello <g2>world</g2>, see\u00a0<g7/> and <g9/>. <g11></g11>New line <g13/> \u2013 y.",
    "Second.<g2></g2> <g4/> with 5% of M\u00fcller & Co.\nWe have\n<g12/>\nwhere \u201cx\u201d is <g18>bold</g18>.",
    "A note, <g2>really</g2>.",
    *("First", "Term", "Second one", "Cell", "cell two", "wide", "Short", "A picture"),
]


def test_texts_are_paragraphs_headings_items_cells_captions_and_notes() -> None:
    assert texts("a.tex", DATA) == TEXTS
    assert unchanged("a.tex", DATA) == (DATA, DATA)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("house!old one", ["house", "old one"]),
        ("garden|see{big house}", ["garden", "big house"]),
        ("page range|(", ["page range"]),
        (r"\emph{noise}|textbf", ["noise"]),
        (r"cat@\textbf{cat}", []),  # its key would sort it as in the source
        (r"\texttt{ls}!all files|see{\emph{list}}", ["all files", "list"]),  # code stays
        *((entry, []) for entry in (r"\gls{key}", r"\ref{a}", r"\url{http://a.de}", r"\ensuremath{a}", r"\verb|a!b|")),
        ('so"!', []),
        ("5", []),
    ],
)
def test_entries_of_an_index_are_texts_of_their_own(entry: str, expected: list[str]) -> None:
    data = f"The house\\index{{{entry}}} is red.".encode()
    sentence, *found = texts("a.tex", data)
    assert (sentence, found) == ("The house<g2></g2> is red.", expected)
    body = re.sub("|".join(expected), lambda text: upper(text[0]), entry) if expected else entry
    assert translated("a.tex", data, upper).decode() == f"THE HOUSE\\index{{{body}}} IS RED."


def test_long_entries_of_an_index_take_linear_time() -> None:
    def read(size: int) -> None:
        texts("a.tex", b"The house\\index{" + b"a" * size + b"\\emph{b}} is red.")

    assert grows_linearly(read, 4000, 32000)


def test_signs_of_an_index_are_escaped_in_its_entries() -> None:
    """An exclamation mark would begin another level."""
    data = b"The house\\index{house} is red."
    found = translated("a.tex", data, lambda text: "L\u00e4rm! @a|b" if text == "house" else text)
    assert found == b'The house\\index{L\\"arm"! "@a"|b} is red.'


def test_capitals_reach_each_text_and_nothing_else() -> None:
    after = r"""\maketitle
\section{ONE}\label{sec:One}
HELLO \textbf{WORLD}, SEE~\cite{Key} AND $a+b$. % Comment
NEW LINE \foo{X}{y} -- Y.

SECOND.\footnote{A NOTE, \emph{REALLY}.} \verb|x Y| WITH 5\% OF M\"ULLER \& CO.
WE HAVE
\[ x \]
WHERE ``X'' IS {\bf BOLD}.
\begin{itemize}
  \item FIRST
  \item[TERM] SECOND ONE
\end{itemize}
\begin{tabular}{ll} CELL & CELL TWO \\ \multicolumn{2}{l}{WIDE} & 4 \end{tabular}
\begin{lstlisting}
Code { $ % not LaTeX
\end{lstlisting}
\begin{figure}[h]\includegraphics[width=2cm]{A.png}\caption[SHORT]{A PICTURE}\end{figure}
"""
    head = HEAD.replace("A title", "A TITLE")
    assert translated("a.tex", DATA, upper).decode() == f"{head}{after}\\end{{document}}\nAfter\n"


@pytest.mark.skipif(not shutil.which("pandoc"), reason="pandoc is not installed")
def test_pandoc_reads_the_same_words() -> None:
    def words(data: bytes) -> list[str]:
        command = ["pandoc", "--from", "latex", "--to", "plain"]
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode().upper().split()

    assert words(translated("a.tex", DATA, upper)) == words(DATA)


def test_a_mark_is_at_the_end_of_each_text() -> None:
    after = translated("a.tex", DATA.replace(b"M\\", "\u00fcM\\".encode()), marked).decode()
    assert after.count("\u00b6") == len(TEXTS)
    assert "{\\bf bold}.\u00b6\n\\begin{itemize}" in after


PARTS = st.sampled_from(
    [
        "word ",
        "a\nb",
        "\n\n",
        "\\emph{c}",
        "\\foo{d}",
        "$x$",
        "% e\n",
        "\\label{f}",
        "{g}",
        "{\\it h}",
        "\\\\",
        "~",
        "--",
        " ",
    ]
    + [
        "\\begin{itemize}\\item i\\end{itemize}",
        "\\footnote{j}",
        "\\section{k}",
        "\\%",
        "\\LaTeX",
        '\\"u',
        "``l''",
        "[m]",
    ]
)


@given(st.lists(PARTS, max_size=9).map("".join))
def test_macros_and_comments_stay_in_any_order(body: str) -> None:
    from pylatexenc.latexwalker import LatexWalker

    data = body.encode()
    assert unchanged("a.tex", data) == (data, data)
    after = translated("a.tex", data, marked).decode()
    LatexWalker(after + "\n%", tolerant_parsing=False).get_latex_nodes()
    assert after.replace("\\textparagraph", "\u00b6").replace("\\P{}", "\u00b6").count("$x$") == body.count("$x$")
    for part in (
        "\\foo{d}",
        "% e\n",
        "\\label{f}",
        "\\begin{itemize}",
        "\\footnote{",
        "\\section{",
        "\\emph{",
        "{\\it ",
    ):
        assert after.count(part) == body.count(part)


@pytest.mark.parametrize(
    ("before", "said", "after"),
    [
        ("a", "50% of {x} & y_z #1 $2", "50\\% of \\{x\\} \\& y\\_z \\#1 \\$2"),
        ("a", "\u201eb\u201c \u2013 c\u00a0d", ",,b`` -- c~d"),
        ("a\u00e4", "\u00fc", "\u00fc"),
        ('a\\"a', "\u00fc", '\\"u'),
        ("\\LaTeX, a", "<g1/>b", "\\LaTeX{}b"),
        ("In \\LaTeX, a", "<g2/> in b", "\\LaTeX\\ in b"),
        ("a 5\\,\\%", "b 5\u202f%", "b 5\\,\\%"),
        ("a \\%{b}", "c% <g3>d</g3>", "c\\% {d}"),
        ("\\noindent{\\bf b} c", "<g1>d</g1> e", "\\noindent{\\bf d} e"),
        ("a {\\bf b} c", "<g2>d</g2> e", "{\\bf d} e"),
    ],
)
def test_translations_are_escaped(before: str, said: str, after: str) -> None:
    assert translated("a.tex", before.encode(), lambda text: said).decode().replace('\\"{u}', '\\"u') == after


def test_options_of_babel_name_the_target() -> None:
    head = "\\documentclass[{}]{{article}}\n\\usepackage[{}]{{babel}}\n\\begin{{document}}a\\end{{document}}"
    for before, after in [
        ("english", "ngerman"),
        ("french,american", "french,ngerman"),
        ("ngerman,english", "ngerman"),
    ]:
        data = head.format("12pt", before).encode()
        assert translated("a.tex", data, upper).decode() == head.format("12pt", after).replace("}a\\", "}A\\")


@pytest.mark.parametrize(
    ("source", "target", "before", "after"),
    [
        ("fr", "en", "english,french", "english"),
        ("en", "fr", "british", "french"),
        ("fr-CA", "nl", "canadien", "dutch"),
        ("fr", "xx", "french", "french"),
    ],
)
def test_the_options_of_babel_are_those_of_any_language_with_a_file(
    source: str, target: str, before: str, after: str
) -> None:
    head = "\\documentclass{{article}}\n\\usepackage[{}]{{babel}}\n\\begin{{document}}a\\end{{document}}"
    reading = Reading(name="a.tex", source=source, target=target)
    assert translated_as(head.format(before).encode(), reading, upper).decode() == head.format(after).replace(
        "}a\\", "}A\\"
    )


GERMAN_HEAD = "\\documentclass[ngerman]{article}\n\\usepackage{babel}\n"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('f"ur die Stra"se', "f\u00fcr die Stra\u00dfe"),
        ('"Ubung "`sehr"\' gut', "\u00dcbung \u201esehr\u201c gut"),
        ('Erz"-bischof und S"uden, Schi"ffahrt', "Erzbischof und S\u00fcden, Schiffahrt"),
        ('Bergauf"=Fahrt in "<Ruhe">', "Bergauf-Fahrt in \u00abRuhe\u00bb"),
        (r"Stra{\ss}e, M{\"u}ller und {\OE}uvre", "Stra\u00dfe, M\u00fcller und \u0152uvre"),
    ],
)
def test_letters_by_shorthands_of_german_and_in_groups_are_letters(written: str, read: str) -> None:
    data = f"{GERMAN_HEAD}\\begin{{document}}\n{written}\n\\end{{document}}\n".encode()
    assert texts("a.tex", data, "de", "en") == [read]
    assert written.encode() in translated("a.tex", data, source="de", target="en")
    chapter = b'Er ist f"ur "`sie"\' da.'
    assert texts("a.tex", chapter, "de", "en") == ["Er ist f\u00fcr \u201esie\u201c da."]


def test_a_quotation_mark_is_no_shorthand_unless_the_file_has_them() -> None:
    assert texts("a.tex", b'Die "Angst" ist da.', "de", "en") == ['Die "Angst" ist da.']
    english = b'\\documentclass[english]{article}\n\\begin{document}\nThe "apple".\n\\end{document}\n'
    assert texts("a.tex", english) == ['The "apple".']
    into_german = translated("a.tex", english, lambda text: text.replace("The", "Der"), source="en", target="de")
    assert b"Der ''apple''." in into_german
    assert b"[ngerman]" in into_german


def test_the_encoding_of_the_file_is_read() -> None:
    data = b"\\usepackage[latin1]{inputenc}\n\nd\xe4"
    assert translated("a.tex", data, upper) == b"\\usepackage[latin1]{inputenc}\n\nD\xc4"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            r"\State Take $x$ \If{the list is empty} \Return nothing \EndIf \State Go on",
            ["Take <g2/>", "the list is empty", "nothing", "Go on"],
        ),
        (r"A word\sidenote[][1cm]{Beside} here", ["A word<g2></g2> here", "Beside"]),
        (r"\addsec{A heading} \epigraph{A saying}{A person}", ["A heading", "A saying", "A person"]),
        (r"\subfloat[Left]{\includegraphics{a}}\subcaption{Right}", ["Left", "Right"]),
    ],
)
def test_steps_of_algorithms_notes_and_captions_are_texts(body: str, expected: list[str]) -> None:
    assert texts("a.tex", body.encode()) == expected


@pytest.mark.parametrize(
    "code",
    [
        r"\lstinline{int x}",
        r"\lstinline[language=C]|int x|",
        r"\lstinline!$ % {!",
        r"\Verb+a $ %b+",
        r"\mintinline{python}{print {x}}",
        r"\mintinline{c++}|int x|",
        r"\VERB|\NormalTok{word}|",
    ],
)
def test_code_in_a_line_stays_whatever_is_around_it(code: str) -> None:
    definition = r"\newcommand{\VERB}{\Verb[commandchars=\\\{\}]}"
    data = f"{definition}\n\nHere is {code} so".encode()
    assert texts("a.tex", data) == ["Here is <g2/> so"]
    assert translated("a.tex", data, upper).decode().endswith(f"\n\nHERE IS {code} SO")


@pytest.mark.parametrize("text", ["{", "a}", "$x", "\\begin{a}", "\\end{a}", "\\verb|x", "{" * 5000])
def test_what_is_no_latex_is_one_sentence(text: str) -> None:
    with pytest.raises(UserError, match=r"^a\.tex[^\n]+; (correct|divide) it$"):
        texts("a.tex", text.encode())


@pytest.mark.parametrize(
    ("definition", "is_text"),
    [
        (r"\newcommand{\x}[1]{\textbf{#1}}", True),
        (r"\renewcommand*\x[1]{{\bfseries #1}}", True),
        (r"\newcommand{\x}[1]{\emph{\textcolor{red}{#1}}\index{#1}}", True),
        (r"\providecommand{\x}[1]{(#1)}", True),
        (r"\newcommand{\x}[1]{\ref{sec:#1}}", False),
        (r"\newcommand{\x}[1]{\href{#1}{hier}}", False),
        (r"\newcommand{\x}[1]{#1 \label{#1}}", False),
        (r"\newcommand{\x}[1]{\includegraphics[width=1cm]{#1}}", False),
        (r"\newcommand{\x}[1]{nichts}", False),
        (r"\newcommand{\y}[1]{\textbf{#1}}", False),
    ],
)
def test_the_argument_of_a_macro_is_text_if_its_definition_shows_it(definition: str, is_text: bool) -> None:
    page = definition + r"\begin{document}Das ist \x{sehr wichtig} heute.\end{document}"
    new = translated("a.tex", (r"\documentclass{article}" + page).encode(), upper).decode()
    assert (r"\x{SEHR WICHTIG}" in new) == is_text
    assert (r"\x{sehr wichtig}" in new) != is_text
    assert definition in new


@pytest.mark.parametrize(
    ("definition", "use", "expected"),
    [
        (
            r"\newcommand{\x}[2]{\textcolor{#1}{#2}}",
            r"Das ist \x{red}{sehr gut} heute.",
            ["Das ist <g2>sehr gut</g2> heute."],
        ),
        (r"\newcommand{\x}[2]{#1\label{#2}}", r"Das \x{Haus}{eins} da.", ["Das <g2>Haus</g2> da."]),
        (r"\newcommand{\x}[2]{\textbf{#1} (#2)}", r"Ein \x{Haus}{Gut} da.", ["Ein <g2/> da.", "Haus", "Gut"]),
        (r"\NewDocumentCommand\x{m m}{\emph{#1 #2}}", r"Ein \x{Haus}{Gut} da.", ["Ein <g2/> da.", "Haus", "Gut"]),
        (
            r"\newcommand{\x}[2][red]{\textcolor{#1}{#2}}",
            r"Ganz \x{gut} und \x[blue]{neu}",
            ["Ganz <g2>gut</g2> und <g6>neu</g6>"],
        ),
        (r"\newcommand*{\x}[3]{\textbf{#1}\hfill #2\\ #3}", "\\x\n  {Haus}\n  {2019}{Gut}", ["Haus", "Gut"]),
        (r"\newcommand{\x}[2]{#1 & #2 \\}", r"\x{Haus}{Gut} \x{Alt}{Neu}", ["Haus", "Gut", "Alt", "Neu"]),
        (r"\newcommand{\x}[2]{\section{#1}\footnote{#2}}", r"\x{Haus}{Gut}", ["Haus", "Gut"]),
    ],
)
def test_each_argument_of_a_macro_that_its_definition_shows_is_text(
    definition: str, use: str, expected: list[str]
) -> None:
    data = rf"\documentclass{{article}}{definition}\begin{{document}}{use}\end{{document}}".encode()
    assert texts("a.tex", data) == expected
    assert unchanged("a.tex", data) == (data, data)
    new = translated("a.tex", data, upper).decode()
    words = [word for text in expected for word in re.findall("[A-Z][a-z]+", text)]
    assert definition in new
    assert all(word.upper() in new for word in words)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (r"\[ a = \begin{cases} 1 & \text{falls } x > 0 \\ 0 & \text{sonst} \end{cases} \]", ["falls", "sonst"]),
        (r"\begin{align} a \\ \intertext{und daher} b \end{align}", ["und daher"]),
        (r"$a \text{ oder } b$", ["oder"]),
        (r"$\text{Attention}(Q) + x_\text{maximal} + x^{\text{minimal}} + 3\,\text{kg}$", []),
    ],
)
def test_the_text_in_a_formula_is_text(formula: str, expected: list[str]) -> None:
    data = f"Es gilt {formula} immer".encode()
    assert texts("a.tex", data)[1:] == expected
    new = translated("a.tex", data, upper).decode()
    assert new == f"ES GILT {re.sub('|'.join(expected) or '(?!)', lambda word: word[0].upper(), formula)} IMMER"


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        (r"\begin{frame}{Our results}{A summary}Some text.\end{frame}", ["Our results", "A summary", "Some text."]),
        (r"\begin{frame}<1->[fragile]{Our results} Some text.\end{frame}", ["Our results", "Some text."]),
        (r"\begin{frame}[plain] Some text.\end{frame}", ["Some text."]),
        ("\\begin{block}{note}\nSome text.\\end{block}", ["note", "Some text."]),
        (r"\begin{mybox}{Note well}Some text.\end{mybox}", ["Note well", "Some text."]),
        (r"\begin{column}{0.5\textwidth}Some text.\end{column}", ["Some text."]),
        (r"\begin{wrapfigure}{r}{0.5 \textwidth} Some text.\end{wrapfigure}", ["Some text."]),
        (r"\begin{multicols}{2} Some text.\end{multicols}", ["Some text."]),
        (r"\begin{center}{Some} text.\end{center}", ["<g1>Some</g1> text."]),
        (r"\begin{longtable}[]{@{}ll>{\bfseries}p{(\linewidth - 2pt)}@{}}Some text.\end{longtable}", ["Some text."]),
        (r"\begin{minipage}[b]{0.5\linewidth}Some text.\end{minipage}", ["Some text."]),
        (r"\begin{proof}[Proof of \ref{a}] Some text.\end{proof}", ["Proof of <g2/>", "Some text."]),
        (
            r"\newtheorem{fact}{Fact}\begin{fact}[\emph{Main} fact]Some text.\end{fact}",
            ["<g1>Main</g1> fact", "Some text."],
        ),
        (r"\begin{tcolorbox}[colback=red, title=A note]Some text.\end{tcolorbox}", ["A note", "Some text."]),
        (r"\begin{tcolorbox}[title={A note, really},x=1]Some text.\end{tcolorbox}", ["A note, really", "Some text."]),
        (r"Some text.\begin{lstlisting}[caption={A program}]x{\end{lstlisting}", ["Some text.", "A program"]),
    ],
)
def test_the_arguments_of_an_environment_are_no_part_of_its_text(inside: str, expected: list[str]) -> None:
    """Two titles of a frame were one sentence, and a length could be written with the comma of a language."""
    data = rf"\documentclass{{beamer}}\begin{{document}}{inside}\end{{document}}".encode()
    assert texts("a.tex", data) == expected
    assert translated("a.tex", data, lambda text: text.replace(".", "!")) == data.replace(b"text.", b"text!")


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        (r"see \hyperref[sec:a]{the start} of it", ["see <g2>the start</g2> of it"]),
        (r"A word\todo[inline]{Not done.} here", ["A word<g2></g2> here", "Not done."]),
        (r"\makebox[3cm][l]{A box} and \parbox[t]{5cm}{another}", ["<g1>A box</g1> and", "another"]),
        (r"see \unknown[page~5, \emph{a}]{x}[y]{z} there", ["see <g2/> there"]),
        (
            r"\begin{longtable}{ll}a word & b \\ \cmidrule(lr){2-3} \multirow{2}{*}{House} & d\end{longtable}",
            ["a word", "b", "House", "d"],
        ),
        (
            r"\begin{itemize}\item<1-> First \textbf<2>{bold} \only<3->{last}\end{itemize}",
            ["First <g2>bold</g2> <g6>last</g6>"],
        ),
        (r"A note\footnote<\value{beamerpauses}->[frame]{Of it.} here", ["A note<g2></g2> here", "Of it."]),
        (r"\section{The \texorpdfstring{$\alpha$}{alpha} rays}", ["The <g2><g3/></g2> rays", "alpha"]),
        (r"A picture \includegraphics[alt={Of a house},width=2cm]{a} there", ["A picture <g2/> there", "Of a house"]),
        (r"\addcontentsline{toc}{section}{The sources}", ["The sources"]),
        (r"\begin{columns}\column{.5\textwidth} Left \column{2cm} Right\end{columns}", ["Left", "Right"]),
        (
            r"\opening{Dear reader,} thank you.\closing{Yours}\ps{PS: a note}",
            ["Dear reader,", "thank you.", "Yours", "PS: a note"],
        ),
        (r"\cventry{2020}{Teacher}{A school}{}{}{\emph{Good} work}", ["Teacher", "A school", "<g1>Good</g1> work"]),
        (r"\cvitem{Languages}{German}\cvlistitem{A point}", ["Languages", "German", "A point"]),
        (r"One word\pagebreak[3] and\nopagebreak[2] more", ["One word", "and<g2></g2> more"]),
        (
            r"\question[5] What?\begin{parts}\part[2] Explain it.\part Show it.\end{parts}",
            ["What?", "Explain it.", "Show it."],
        ),
        (r"\part{One} \choice Red \CorrectChoice Blue", ["One", "Red", "Blue"]),
        (r"\begin{tabbing}One \= Two \\ \> Three\end{tabbing}Caf\'e", ["One", "Two", "Three", "Café"]),
        (
            "\\begin{tabbing}\\={\\bf One} \\=\\textbf{Two} \\= % comment\nThree \\`{Four}\\kill\\end{tabbing}",
            ["One", "Two", "Three", "<g1>Four</g1><g4/>"],
        ),
        (r"See \enquote*{the house} \textcquote[12]{lee}{here}.", ["See <g2>the house</g2> <g6>here</g6>."]),
        (
            r"A word\note{Speak}\nomenclature{$c$}{Speed of light} more",
            ["A word<g2></g2><g3></g3> more", "Speak", "Speed of light"],
        ),
        (r"\acro{TL}{Too long} \acro{NASA} is here", ["Too long", "<g1/> is here"]),
        (r"\fancyhead[LE,RO]{A draft}\lhead{Left}", ["A draft", "Left"]),
        (r"Some [in brackets] and \LaTeX{} [too]", ["Some [in brackets] and <g2/> [too]"]),
    ],
)
def test_options_of_macros_are_no_text(inside: str, expected: list[str]) -> None:
    """Keys of references, alignments and columns of rules went to the model, and files no longer compiled."""
    data = rf"\documentclass{{beamer}}\begin{{document}}{inside}\end{{document}}".encode()
    assert texts("a.tex", data) == expected
    assert unchanged("a.tex", data) == (data, data)
    assert translated("a.tex", data, upper).lower() == data.lower()


def test_quotation_marks_and_signs_by_macros_are_signs() -> None:
    data = rb"Das \glqq Haus\grqq{} in \S~5"
    assert texts("a.tex", data) == ["Das \u201eHaus\u201c in \u00a7\u00a05"]
    assert translated("a.tex", data, upper) == rb"DAS ,,HAUS`` IN {\textsection}~5"


def test_an_accent_without_a_letter_is_the_sign() -> None:
    assert texts("a.tex", rb"Ein \^{}Dach, a\^{}b, caf\'{e} und \~{} hier") == ["Ein ^Dach, a^b, caf\u00e9 und ~ hier"]


@pytest.mark.parametrize("option", ["title=A note", "title={A note}"])
def test_a_title_in_an_option_stays_one_value(option: str) -> None:
    data = rf"\begin{{tcolorbox}}[{option},x=1]Some text.\end{{tcolorbox}}".encode()
    written = translated("a.tex", data, lambda text: f"{text}, so")
    assert written.startswith(rb"\begin{tcolorbox}[title={A note, so},x=1]")


@pytest.mark.parametrize("title", [r"\texorpdfstring{A title}{A title}", "A title"])
def test_titles_and_dates_of_the_preamble_are_texts(title: str) -> None:
    data = rf"\documentclass{{beamer}}\title{{{title}}}\date{{In May}}\begin{{document}}\end{{document}}".encode()
    assert texts("a.tex", data) == [*["A title"] * title.count("A title"), "In May"]


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        (r"\hypersetup{pdftitle={A house}, pdfauthor={Jan},pdfsubject=Of wood}", ["A house", "Of wood"]),
        (r"\newglossaryentry{a}{name=tree,description={A big plant},symbol={x}}", ["tree", "A big plant"]),
        (r"\DeclareAcronym{ml}{short=ML, long=a long name}\fancyfoot[C]{Page \thepage}", ["a long name", "Page <g2/>"]),
        (r"\newglossaryentry{a}{name={tree}}\newcommand{\x}[1]{title=y}", ["tree"]),
        (r"\newacronym[longplural=x]{a}{TL}{too \emph{long}}", ["too <g2>long</g2>"]),
        (r"\titlehead{University\\ of nowhere}\publishers{A press}", ["University", "of nowhere", "A press"]),
    ],
)
def test_what_a_preamble_says_to_readers_is_text(declaration: str, expected: list[str]) -> None:
    data = rf"\documentclass{{a}}{declaration}\begin{{document}}Some text.\end{{document}}".encode()
    assert texts("a.tex", data) == [*expected, "Some text."]
    assert unchanged("a.tex", data) == (data, data)


@pytest.mark.parametrize("macro", ["title", "subtitle", "date", "section", "caption", "frametitle"])
def test_both_forms_of_a_title_are_texts(macro: str) -> None:
    """The name of an author, who may have two forms too, is none."""
    data = rf"\begin{{document}}\author[Jan]{{Jan Schmidt}}\{macro}[Short]{{A longer title}}\end{{document}}".encode()
    assert texts("a.tex", data) == ["Short", "A longer title"]


@pytest.mark.parametrize(
    "definition",
    [
        "\\newenvironment{note}[1][x]%\n  {\\begin{center}\\{ % {\n  }%\n  {\\end{center}}",
        r"\NewDocumentEnvironment{note}{O{} m}{\begin{center}}{\end{center}}",
        r"\newcommand*{\open}[1]{\begin{center}#1}\def\close#1{\end{center}}",
        r"\DeclareDocumentCommand\open{m}{\begin{center}}",
    ],
)
def test_a_definition_may_have_one_end_of_an_environment(definition: str) -> None:
    """As those of docutils have; the file was refused."""
    data = f"{definition}\n\\begin{{document}}Some \\emph{{text}}.\\end{{document}}".encode()
    assert texts("a.tex", data) == ["Some <g2>text</g2>."]
    assert unchanged("a.tex", data) == (data, data)


def test_the_texts_of_a_picture_are_those_of_its_nodes_and_axes() -> None:
    picture = r"""\begin{tikzpicture}[every node/.style={draw}, node distance=2cm]
  % \node {A comment};
  \node[draw, label={[red]above:a}] (node a) at ($(0,0)+(1,1)$) {Start \textbf{here}\\second line};
  \draw[->] (a) -- node[above] {on the way} (b) node {x} edge[bend left] node {{back} again} (a);
  \begin{axis}[xlabel={Time in s}, ylabel=Speed, xtick={1,2}] \addlegendentry{Measured $x$} \end{axis}
\end{tikzpicture}"""
    data = f"One.{picture}Two.\\begin{{forest}} [VP [eats]] \\end{{forest}}".encode()
    expected = ["One.", "Start <g2>here</g2>", "second line", "on the way", "<g1>back</g1> again", "Time in s", "Speed"]
    assert texts("a.tex", data) == [*expected, "Measured <g2/>", "Two."]
    assert unchanged("a.tex", data) == (data, data)
    assert translated("a.tex", data, upper).lower() == data.lower()
    assert translated("a.tex", data, upper).count(b"comment") == 1


def test_each_text_of_a_picture_is_translated_once() -> None:
    """One in an option or in a node within a node was written twice."""
    picture = r"\begin{tikzpicture}[title={A title}]\node {\tikz \node {Some words};}; \node {Red}; %s\end{tikzpicture}"
    data = (picture % r"\begin{axis}[title={\tikz \node {Blue};}, xlabel=Time]\end{axis}").encode()
    assert translated("a.tex", data, upper).lower() == data.lower()


@pytest.mark.parametrize("unit", [r"\node{abc ", r"\node[", "node (", r"\node{$abc}", r"\node[a] (b) at ", "{abc{"])
def test_a_long_picture_takes_linear_time(unit: str) -> None:
    def work(n: int) -> None:
        translated("a.tex", rf"\begin{{tikzpicture}}{unit * n}\end{{tikzpicture}}".encode(), upper)

    assert grows_linearly(work, 200, 1_600)


@pytest.mark.parametrize(
    "declaration",
    [
        r"\DefineVerbatimEnvironment{Highlighting}{Verbatim}{commandchars=\\\{\}}",
        r"\lstnewenvironment{Highlighting}[1][]{}{}",
        r"\newtcblisting[auto counter]{Highlighting}{listing only}",
    ],
)
def test_an_environment_that_the_file_declares_for_code_stays(declaration: str) -> None:
    """As pandoc does for code in colours."""
    code = r"\begin{Highlighting}[]\KeywordTok{def} f(x): return \StringTok{$ {a"
    data = rf"{declaration}\begin{{document}}Some \st{{old}} text.{code}\end{{Highlighting}}\end{{document}}".encode()
    assert texts("a.tex", data) == ["Some <g2>old</g2> text."]
