"""Writing conventions and word lists of German."""

import re

from translate.text.languages import Language, words

LANGUAGE = Language(
    script="LATIN",
    letters="äöüÄÖÜßàáâèéêëîïñôûÉ",
    capitalises_nouns=True,
    quotes=("\u201e", "\u201c"),
    grouping=".",
    decimal=",",
    units={"€": ("euro",), "$": ("dollar",), "£": ("pfund",), "¥": ("yen",), "%": ("prozent",)},
    numbered=re.compile(r"\b(?:Nr|Nummer|Zimmer|Gleis|Seite|S|Kap|Kapitel)\.?\s\Z", re.IGNORECASE),
    clock=re.compile(r"\s?Uhr\b", re.IGNORECASE),
    number_endings=re.compile(r"(?<=\w)(?=jähr|mal\b|fach|tägig|stündig|prozentig|köpfig)"),
    abbreviations=words(
        """
        abb abs abschn allg anm aufl ausg bd bde bearb bes bspw bzgl bzw ca co dipl dr ebd ehem eigtl einschl
        entspr evtl exkl fa fam ff frl ges ggf hg hl hr hrn hrsg inkl ing insb jun kap kath lt min mr mrs näml
        nr orig pfr phil priv prof prot resp röm sog sr str tel u ungef urspr v verf verh vgl vorm wiss zit zzgl
        nördl südl östl westl abt bsp rd dt engl franz frz griech geb gest verst
        """
    ),
    final_abbreviations=words(
        """
        usw etc usf co inc ltd corp mio mrd tsd std sek jh jhd jr u.a u.ä o.ä u.s.w z.t s.o s.u n.chr v.chr d.j
        min art tab mag max lat best gem int st fr mind med sen chr nat pol
        """
    ),
    starters=words(
        """
        aber ab all alle allerdings als also am an auch auf aus außerdem bei beim bis bitte da dabei dadurch
        dafür dagegen daher dahin damals damit danach daneben dann daran darauf daraus darin darüber darum das
        dass davon davor dazu deine dem den denn dennoch der deren des deshalb dessen deswegen die dies diese
        dieser dieses doch dort du durch ein eine einem einen einer eines einige er erst es etwas falls für ganz
        gegen gestern gibt haben hat heute hier hinter ich ihm ihn ihnen ihr ihre im immer in ins ist ja jede
        jeder jedes jedoch jene jetzt kann kein keine können man manche mehr mehrere mein meine mit möchte morgen muss
        nach nachdem natürlich neben nein nicht nichts niemand noch nun nur ob oder ohne schließlich schon sehr sein
        seine seit seitdem sich sie sind so sobald sofort sogar solche soll sollte somit sondern sonst sowohl
        später trotz trotzdem über um und uns unser unsere unter viel viele vielleicht vom von vor vorher wann
        war waren warum was wegen weil weiter weitere weiterhin welche wenn wer werden wessen wie wieder will wir
        wird wo wollen worauf wurde wurden zu zudem zuerst zum zur zwar zwischen zwei drei vier
        """
    ),
    ordinal_nouns=re.compile(
        r"(?:Jan(?:uar|\.)|Jänner|Feb(?:ruar|\.)|März|Apr(?:il|\.)|Mai|Juni?\b|Juli?\b|Aug(?:ust|\.)|Sept?(?:ember|\.)|"
        r"Okt(?:ober|\.)|Nov(?:ember|\.)|Dez(?:ember|\.)|Jahrhundert|Jh\.)"
    ),
    letter_ends_sentence=False,
)
