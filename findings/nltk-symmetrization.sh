#!/usr/bin/env bash
# NLTK's grow-diag-final-and is the plain union of both alignments, and its limit of phrases cuts phrases in two.
#
# Guess: `grow_diag_final_and` gives the word alignment that Moses gives by this name: the intersection, neighbours that
#        grow from it, and of the rest only links between two words that have none yet. `phrase_extraction` with a limit
#        leaves longer phrases out, on both sides.
# Miss:  a word is looked up in a dictionary whose keys are "e" and "f", so no word ever counts as aligned, and every
#        link of either direction is taken: all the wrong links that the heuristic is there to leave out. A target
#        phrase above the limit is cut to it, and stands as a pair: a German compound is "motor vehicle liability",
#        without "insurance". Words without a link are added beyond the limit. Dictionaries and phrase tables from it
#        have both.
. "$(dirname "$0")/environment.sh" nltk==3.10.4
python - <<'PYTHON'
import random

from finding import expect
from nltk.translate import grow_diag_final_and
from nltk.translate.phrase_based import phrase_extraction


def written(links: set[tuple[int, int]]) -> str:
    """Return an alignment as NLTK takes it."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def linked_once_more(forward: set[tuple[int, int]], backward: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return grow-diag-final-and for alignments without any link in common: each word has at most one link."""
    links = set[tuple[int, int]]()
    for i, j in [*sorted(forward), *sorted(backward)]:
        if all(i != a and j != b for a, b in links):
            links.add((i, j))
    return links


forward, backward = {(0, 0), (1, 0), (2, 0)}, {(1, 1), (1, 2), (1, 3)}
expect("by definition", sorted(linked_once_more(forward, backward)), [(0, 0), (1, 1)])
seen = grow_diag_final_and(3, 4, written(forward), written(backward))
expect("NLTK", seen, [(0, 0), (1, 0), (1, 1), (1, 2), (1, 3), (2, 0)])

random.seed(1)
n_unions = 0
for _ in range(1000):
    forward = {(i, random.randrange(8)) for i in range(8)}
    backward = {(random.randrange(8), j) for j in range(8)}
    n_unions += grow_diag_final_and(8, 8, written(forward), written(backward)) == sorted(forward | backward)
expect("of 1000 random pairs of alignments, the result is the union in", n_unions, 1000)

source, target = "Kraftfahrzeughaftpflichtversicherung", "motor vehicle liability insurance"
links = [(0, 0), (0, 1), (0, 2), (0, 3)]
expect("without a limit", [phrase[3] for phrase in phrase_extraction(source, target, links)], [target])
pairs = [phrase[3] for phrase in phrase_extraction(source, target, links, max_phrase_length=3)]
expect("of at most 3 words", sorted(pairs), ["motor vehicle liability"])
pairs = phrase_extraction("Ja", "yes , of course", [(0, 0)], max_phrase_length=1)
expect("the longest of at most 1 word", max((phrase[3] for phrase in pairs), key=len), "yes , of course")
PYTHON
