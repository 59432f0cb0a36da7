"""English names of languages, by ISO 639-1 code."""

_NAMES = """
af Afrikaans,am Amharic,ar Arabic,az Azerbaijani,be Belarusian,bg Bulgarian,bn Bengali,bs Bosnian,ca Catalan,cs Czech,
cy Welsh,da Danish,de German,el Greek,en English,eo Esperanto,es Spanish,et Estonian,eu Basque,fa Persian,fi Finnish,
fo Faroese,fr French,ga Irish,gl Galician,gu Gujarati,he Hebrew,hi Hindi,hr Croatian,ht Haitian Creole,hu Hungarian,
hy Armenian,id Indonesian,is Icelandic,it Italian,ja Japanese,ka Georgian,kk Kazakh,km Khmer,kn Kannada,ko Korean,
ku Kurdish,ky Kyrgyz,la Latin,lb Luxembourgish,lo Lao,lt Lithuanian,lv Latvian,mg Malagasy,mk Macedonian,ml Malayalam,
mn Mongolian,mr Marathi,ms Malay,mt Maltese,nb Norwegian Bokmal,ne Nepali,nl Dutch,nn Norwegian Nynorsk,no Norwegian,
oc Occitan,pa Punjabi,pl Polish,ps Pashto,pt Portuguese,qu Quechua,ro Romanian,ru Russian,rw Kinyarwanda,se Sami,
si Sinhala,sk Slovak,sl Slovenian,sq Albanian,sr Serbian,sv Swedish,sw Swahili,ta Tamil,te Telugu,th Thai,tl Tagalog,
tr Turkish,ug Uyghur,uk Ukrainian,ur Urdu,vi Vietnamese,xh Xhosa,yi Yiddish,zh Chinese,zu Zulu
"""
_BY_CODE: dict[str, str] = dict(tuple(row.strip().split(" ", 1)) for row in _NAMES.split(","))  # type: ignore[misc]


def name_of(code: str) -> str:
    """Return the name of a language, or its code if it is unknown."""
    return _BY_CODE.get(code, code)
