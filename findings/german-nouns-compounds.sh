#!/usr/bin/env bash
# german-nouns finds "Inder" and "Garten" in "Kindergarten": letters that fit no noun are left out of a compound.
#
# Guess: `parse_compound` gives the parts of a word, with linking letters taken off, or nothing if it cannot divide it.
# Miss:  it goes from the end of the word, takes the longest noun that ends there, and steps over a letter if there is
#        none. Half of these ordinary words have parts that they do not have: an Indian in the nursery, a "Hau" in each
#        house door, a sow and the town of Ger in the vacuum cleaner. Verbs in front, as in Schreibtisch, are dropped.
#        Nothing tells the parts of Kindergarten from those of Straßenbahn. Who makes a glossary or lines up terms with
#        it pairs "kindergarten" with Indians. compound-split gives all letters back, in two parts each.
. "$(dirname "$0")/environment.sh" german-nouns==1.2.5 compound-split==1.0.2
python - <<'PYTHON'
from compound_split import char_split
from finding import expect
from german_nouns.lookup import Nouns

nouns = Nouns()
STATED = {
    "Straßenbahn": ["Straße", "Bahn"],
    "Datenschutz": ["Daten", "Schutz"],
    "Urheberrecht": ["Urheber", "Recht"],
    "Handschuh": ["Hand", "Schuh"],
    "Kaufvertrag": ["Kauf", "Vertrag"],
    "Kindergarten": ["Inder", "Garten"],
    "Haustür": ["Hau", "Tür"],
    "Krankenhaus": ["Kranke", "Hau"],
    "Staubsauger": ["Staub", "Sau", "Ger"],
    "Schreibtisch": ["Tisch"],
    "Sprachkurs": ["Ach", "Kurs"],
    "Arbeitsamt": ["Arbeit", "Samt"],
}
for word, parts in STATED.items():
    expect(word, nouns.parse_compound(word), parts)
halves = [char_split.split_compound(word)[0][1:] for word in STATED]
expect("letters of compound-split", ["".join(parts).lower() for parts in halves], [word.lower() for word in STATED])
PYTHON
