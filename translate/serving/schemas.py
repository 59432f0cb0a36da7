"""Requests and answers: pydantic checks every request, and the description of the API is made of the same classes.

A body is JSON, or a form with the query; an empty parameter is a missing one. JSON has types, so a number in quotes is
no number; a form has only texts, which are converted. A large body takes seconds and many times its size to read.
"""

import difflib
import gc
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Annotated, Any, Literal, Self, TypeVar
from urllib.parse import unquote_to_bytes

from fastapi.exceptions import RequestValidationError
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    RootModel,
    SkipValidation,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, from_json
from python_multipart import FormParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

from translate.inference.translator import stated_language
from translate.models.registry import language_name
from translate.serving.access import RefusedError
from translate.serving.files import suffixes

JSON_OR_FORM = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")

MOST_TEXTS = 2**16  # in a list; an empty one costs a place in memory and a look at it too
SMALL_BODY = 2**14  # bytes that are read at once, which takes less time than starting a thread

_MAX_FILES = 2  # in a form: one and its earlier translation
_MAX_FIELDS = 100
_LONGEST_NAME = 40  # of parameters that are compared
_DAMAGED = "Invalid request: the form is damaged or not UTF-8"
_PIECE = 2**14  # bytes


def _few(value: object) -> object:
    if isinstance(value, list) and len(value) > MOST_TEXTS:
        raise PydanticCustomError("texts", f"has {len(value)} texts; send at most {MOST_TEXTS} at a time")
    return value


# The first mistake ends the check: describing a million would take minutes and gigabytes.
# Strict, as an upload of a form would otherwise become a list of its name and its content.
_Texts = Annotated[
    str | Annotated[list[str], Field(fail_fast=True, strict=True, max_length=MOST_TEXTS)], BeforeValidator(_few)
]
_Source = Annotated[str, Field(description='Source language code, or "auto"', examples=["de"])]
_Target = Annotated[str, Field(description="Target language code", examples=["en"])]
_Format = Annotated[Literal["text", "html"], Field(description="Format of the text")]
Formality = Literal["default", "formal", "informal", "more", "less", "prefer_more", "prefer_less"]  # DeepL's, and ours
_Formality = Annotated[
    Formality,
    Field(
        description="Form of address: formal or more, informal or less; prefer_more and prefer_less choose one "
        "where the model can; not in LibreTranslate",
    ),
]


class Body(BaseModel):
    """Parameters of a request."""

    api_key: str = Field(default="", description="API key", examples=["xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"])
    _language: str = PrivateAttr(default="")

    @property
    def language(self) -> str:
        """What pages and documents state as the language of a translation; see `Translator.language`."""
        return self._language

    def with_codes(self, code: Callable[[str], str]) -> Self:
        """Return the parameters with the codes of languages as models spell them, which `code` finds."""
        own = {name: code(getattr(self, name)) for name in ("source", "target") if hasattr(self, name)}
        self._language = stated_language(getattr(self, "target", ""), own.get("target", ""))
        return self.model_copy(update=own)


B = TypeVar("B", bound=Body)


class TranslateRequest(Body):
    """Body of /translate."""

    q: _Texts = Field(description="Text(s) to translate", examples=["Guten Morgen"])
    source: _Source
    target: _Target
    format: _Format = "text"
    alternatives: int = Field(default=0, ge=0, description="Number of alternative translations", examples=[3])
    glossary: dict[str, SkipValidation[str]] | str | None = Field(  # `Glossary` checks the terms
        default=None,
        description="Source terms, whose forms are separated by |, and target terms; as a text, one in each line, "
        "separated by a tab; not in LibreTranslate",
        examples=[{"Haus|Hauses": "house"}],
    )
    formality: _Formality = "default"
    sentences: bool = Field(default=False, description="Whether to describe each sentence; not in LibreTranslate")


class Detection(BaseModel):
    """A language with its confidence."""

    confidence: float = Field(description="Percent", examples=[98.0])
    language: str = Field(description='Language code; "unknown" if no language is probable enough', examples=["de"])


class Detections(RootModel[list[Detection]]):
    """Answer of /detect, the most probable language first."""

    model_config = ConfigDict(
        json_schema_extra={"example": [{"confidence": 92.0, "language": "de"}, {"confidence": 8.0, "language": "en"}]}
    )


class Sentence(BaseModel):
    """A sentence, or the white space or tags between two; joined they are the text."""

    source: str
    text: str = Field(description="Translation")
    suspicious: bool = Field(description="Whether the translation may be wrong")
    flags: list[str] = Field(description="What was noticed", examples=[["missing"]])


class TranslateResponse(BaseModel):
    """Answer of /translate; a list of texts has lists."""

    model_config = ConfigDict(json_schema_extra={"example": {"translatedText": "Good morning"}})

    translatedText: str | list[str]  # noqa: N815 -- LibreTranslate's name
    detectedLanguage: Detection | list[Detection] | None = None  # noqa: N815
    alternatives: list[str] | list[list[str]] | None = None
    sentences: list[Sentence] | list[list[Sentence]] | None = None


class AlignmentRequest(Body):
    """Body of /alignment."""

    q: str = Field(description="Sentence", examples=["Guten Morgen"])
    translation: str = Field(description="Its translation", examples=["Good morning"])
    source: str = Field(description="Language of the sentence", examples=["de"])
    target: str = Field(description="Language of the translation", examples=["en"])
    format: _Format = "text"
    formality: _Formality = "default"


class Alignment(BaseModel):
    """Answer of /alignment."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "source": ["Guten", "Morgen"],
                "target": ["Good", "morning"],
                "weights": [[0.8704, 0.0737], [0.07, 0.7747]],
            }
        }
    )

    source: list[str] = Field(description="Words and punctuation marks of the sentence")
    target: list[str] = Field(description="Words and punctuation marks of the translation")
    weights: list[list[float]] = Field(description="Attention of each target word to each source word")


class DetectRequest(Body):
    """Body of /detect."""

    q: _Texts = Field(description="Text to detect", examples=["Guten Morgen"])


def _uploaded(value: object) -> object:
    if not isinstance(value, tuple):
        raise PydanticCustomError("file", "should be a file with a name, such as curl sends for -F file=@letter.txt")
    return value


_File = Annotated[tuple[str, bytes], BeforeValidator(_uploaded), WithJsonSchema({"type": "string", "format": "binary"})]


class FileRequest(Body):
    """Form of /translate_file."""

    file: _File = Field(
        description="A document, or text, Markdown, HTML, subtitles or TSV in UTF-8", examples=["@letter.txt"]
    )
    earlier: _File | None = Field(
        default=None,
        description="A translation of an earlier version of a file of strings, such as de.json: what it has is kept",
    )
    source: _Source
    target: _Target
    glossary: str | None = Field(
        default=None,
        description="Source terms, whose forms are separated by |, and target terms; one in each line, separated by a "
        "tab; not in LibreTranslate",
    )
    formality: _Formality = "default"


class FileResponse(BaseModel):
    """Answer of /translate_file."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "translatedFileUrl": "http://127.0.0.1:5000/download_file/0f1e2d3c4b5a69788796a5b4c3d2e1f0.letter_en.txt"
            }
        }
    )

    translatedFileUrl: str = Field(description="Address of the translated file")  # noqa: N815


class SuggestRequest(Body):
    """Body of /suggest."""

    q: str = Field(description="Original text", examples=["Guten Morgen"])
    s: str = Field(description="Suggested translation", examples=["Good morning"])
    source: str = Field(description="Language of the original text", examples=["de"])
    target: str = Field(description="Language of the translation", examples=["en"])


class SuggestResponse(BaseModel):
    """Answer of /suggest."""

    model_config = ConfigDict(json_schema_extra={"example": {"success": True}})

    success: bool


class Language(BaseModel):
    """A language and the languages that it can be translated into."""

    code: str
    name: str
    targets: list[str]


class Languages(RootModel[list[Language]]):
    """Answer of /languages."""

    model_config = ConfigDict(json_schema_extra={"example": [{"code": "de", "name": "German", "targets": ["en"]}]})


class FrontendLanguage(BaseModel):
    """A language that a page offers first."""

    code: str
    name: str


class FrontendLanguages(BaseModel):
    """The languages that a page offers first."""

    source: FrontendLanguage
    target: FrontendLanguage


class LanguagePair(BaseModel):
    """Codes of two languages."""

    source: str
    target: str


class ModelCard(BaseModel):
    """What is known of a model; `origin`, `revision` and `license` are empty unless `translate models add` added it."""

    name: str
    source: str = Field(description="Code of a language")
    targets: list[str] = Field(description="Codes of languages")
    about: str = Field(description="First line of its card")
    origin: str = Field(description="Repository, address or path")
    revision: str
    license: str


class FrontendSettings(BaseModel):
    """Answer of /frontend/settings."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "charLimit": 1_000_000,
                "frontendTimeout": 500,
                "apiKeys": False,
                "keyRequired": False,
                "suggestions": False,
                "filesTranslation": True,
                "supportedFilesFormat": [*suffixes()],
                "fileSizeLimit": 10_000_000,
                "alternatives": 10,
                "alignment": True,
                "requestLimit": 0,
                "formality": [{"source": "en", "target": "de"}],
                "models": [
                    {
                        "name": f"{source}-{target}",
                        "source": source,
                        "targets": [target],
                        "about": f"{language_name(source)} to {language_name(target)}, 14.1 M parameters, int8",
                        "origin": "",
                        "revision": "",
                        "license": "",
                    }
                    for source, target in (("de", "en"), ("en", "de"))
                ],
                "language": {"source": {"code": "de", "name": "German"}, "target": {"code": "en", "name": "English"}},
            }
        }
    )

    charLimit: int = Field(description="Maximum characters in a request without a key")  # noqa: N815 -- LibreTranslate's names
    frontendTimeout: int = Field(description="Milliseconds without typing before a translation")  # noqa: N815
    apiKeys: bool  # noqa: N815
    keyRequired: bool  # noqa: N815
    suggestions: bool
    filesTranslation: bool  # noqa: N815
    supportedFilesFormat: list[str] = Field(description="Suffixes")  # noqa: N815
    fileSizeLimit: int = Field(description="Bytes of the largest file; not in LibreTranslate")  # noqa: N815
    alternatives: int = Field(description="Maximum alternatives in a request")
    alignment: bool = Field(description="Whether there is /alignment; not in LibreTranslate")
    requestLimit: int = Field(description="Requests per minute, 0 for no limit; not in LibreTranslate")  # noqa: N815
    formality: list[LanguagePair] = Field(description="Where the form of address can be chosen; not in LibreTranslate")
    models: list[ModelCard] = Field(description="The models; not in LibreTranslate")
    language: FrontendLanguages


class Health(BaseModel):
    """Answer of /health."""

    model_config = ConfigDict(json_schema_extra={"example": {"status": "ok"}})

    status: str


class Error(BaseModel):
    """Answer to a request that was refused."""

    error: str


def takes(body: type[Body], *types: str) -> dict[str, Any]:
    """Return the OpenAPI description of a request body.

    Args:
        body: the parameters.
        types: media types of the body.
    """
    schema = body.model_json_schema()
    schema.pop("title"), schema.pop("description")
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in types}}}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of the error responses with these statuses."""
    return {status: {"model": Error} for status in statuses}


# From a body to parameters


def read_body(kind: type[B], body: bytes, content_type: str, query: bytes) -> B:
    """Return the parameters of a request.

    Args:
        content_type: the header; "" is a form, as from programs that name no type.

    Raises RefusedError or RequestValidationError if they are wrong.
    """
    media_type = content_type.lower().partition(";")[0].strip()
    is_json = media_type == "application/json" or media_type.endswith("+json")
    values = _json(body) if is_json else _form(body, media_type, content_type, query)
    given = {name: value for name, value in values.items() if value not in (None, "", [])}
    _refuse_misspelt(given, kind)
    try:
        return kind.model_validate(given, strict=is_json or None)
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False, include_context=False)) from error


def _refuse_misspelt(names: Iterable[str], kind: type[Body]) -> None:
    """Raise RefusedError if a name is almost that of a parameter.

    Others, as those of other servers or of other routes, are ignored.
    """
    spelled = {name for body in Body.__subclasses__() for name in body.model_fields}
    unknown = (name for name in names if name not in spelled and len(name) < _LONGEST_NAME)
    for name in islice(unknown, _MAX_FIELDS):
        if near := difflib.get_close_matches(name, kind.model_fields, n=1, cutoff=0.8):
            raise RefusedError(400, f"Invalid request: there is no parameter {name}; did you mean {near[0]}?")


def query_value(query: bytes, name: str) -> str:
    """Return a parameter of a query, "" if it is missing; RefusedError if the query is damaged."""
    return next((value for found, value in _pairs(query) if found == name), "")


def _json(body: bytes) -> dict[str, Any]:
    is_collecting = gc.isenabled()
    gc.disable()  # no other thread runs meanwhile, and looking for garbage among millions of values takes longer
    try:
        values = from_json(body)
    except ValueError as error:  # not JSON, not UTF-8, lone surrogates, too deep
        raise RefusedError(400, f"Invalid JSON format: {error}") from error
    finally:
        if is_collecting:
            gc.enable()
    if not isinstance(values, dict):
        raise RefusedError(400, "Invalid JSON format: an object is expected")
    return values


def _form(body: bytes, media_type: str, content_type: str, query: bytes) -> dict[str, Any]:
    """Return the parameters of a form and of the query; the first of several values of a name counts."""
    if media_type == "multipart/form-data":
        pairs = _multipart(body, content_type)
    elif media_type in ("", "application/x-www-form-urlencoded") or not body:
        pairs = [*_pairs(body)]
    else:  # such as text/plain, which a browser sends for a page of any origin without asking
        raise RefusedError(415, f"Invalid request: {media_type} is not supported; send JSON or a form")
    pairs += _pairs(query)
    # Browsers send CRLF at the end of the lines of a form.
    return {n: value.replace("\r\n", "\n") if isinstance(value, str) else value for n, value in reversed(pairs)}


def _multipart(body: bytes, content_type: str) -> list[tuple[str, Any]]:
    """Return the fields of a form, a file as its name and content; nothing is written to the disk."""
    pairs: list[tuple[str, Any]] = []

    def add(name: bytes | None, value: Callable[[], Any]) -> None:
        if len(pairs) >= _MAX_FIELDS:
            raise RefusedError(400, f"Too many fields. Maximum number of fields is {_MAX_FIELDS}.")
        pairs.append((_utf8(name or b""), value()))

    def add_file(file: Any) -> None:
        if sum(isinstance(value, tuple) for _, value in pairs) >= _MAX_FILES:
            raise RefusedError(400, f"Too many files. Maximum number of files is {_MAX_FILES}.")
        file.file_object.seek(0)
        add(file.field_name, lambda: (_utf8(file.file_name or b""), file.file_object.read()))

    _, options = parse_options_header(content_type)
    try:
        parser = FormParser(
            "multipart/form-data",
            lambda field: add(field.field_name, lambda: _utf8(field.value or b"")),
            add_file,
            boundary=options.get(b"boundary"),
            config={"MAX_MEMORY_FILE_SIZE": float("inf")},
        )
        parser.write(body)
        parser.finalize()
    except FormParserError as error:
        raise RefusedError(400, _DAMAGED) from error
    return pairs


def _pairs(text: bytes) -> list[tuple[str, Any]]:
    """Return the names and values of a query or of a form that is written like one."""
    if text.count(b"&") >= _MAX_FIELDS:
        raise RefusedError(400, f"Too many fields. Maximum number of fields is {_MAX_FIELDS}.")
    parts = (part.partition(b"=") for part in text.split(b"&") if part)
    return [(_unescaped(name), _unescaped(value)) for name, _, value in parts]


def _unescaped(text: bytes) -> str:
    """Return the text of a part of a form, read in pieces: `unquote_to_bytes` takes a hundred times their size."""
    text, whole, start = text.replace(b"+", b" "), bytearray(), 0
    while start < len(text):
        stop = start + _PIECE
        if (escape := text.rfind(b"%", stop - 2, stop)) >= 0:  # it may go on after the piece
            stop = escape
        whole += unquote_to_bytes(text[start:stop])
        start = stop
    return _utf8(bytes(whole))


def _utf8(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise RefusedError(400, _DAMAGED) from error
