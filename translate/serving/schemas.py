"""Requests and answers: pydantic checks every request, and the description of the API is made of the same classes.

JSON has types, so a number in quotes is no number; a form has only texts, which are converted.
"""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, RootModel, SkipValidation, WithJsonSchema
from pydantic_core import PydanticCustomError

from translate.serving.files import suffixes

JSON_OR_FORM = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")

MOST_TEXTS = 2**16  # in a list; an empty one costs a place in memory and a look at it too


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
                "weights": [[0.4077, 0.2161], [0.0228, 0.5703]],
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


class FileRequest(Body):
    """Form of /translate_file."""

    file: Annotated[
        tuple[str, bytes], BeforeValidator(_uploaded), WithJsonSchema({"type": "string", "format": "binary"})
    ] = Field(description="A document, or text, Markdown, HTML, subtitles or TSV in UTF-8", examples=["@letter.txt"])
    source: _Source
    target: _Target
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


class Pair(BaseModel):
    """Codes of two languages."""

    source: str
    target: str


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
                "alternatives": 10,
                "alignment": True,
                "requestLimit": 0,
                "formality": [],
                "language": {"source": {"code": "de", "name": "German"}, "target": {"code": "en", "name": "English"}},
            }
        }
    )

    charLimit: int = Field(description="Most characters in a request without a key")  # noqa: N815 -- LibreTranslate's names
    frontendTimeout: int = Field(description="Milliseconds without typing before a translation")  # noqa: N815
    apiKeys: bool  # noqa: N815
    keyRequired: bool  # noqa: N815
    suggestions: bool
    filesTranslation: bool  # noqa: N815
    supportedFilesFormat: list[str] = Field(description="Suffixes")  # noqa: N815
    alternatives: int = Field(description="Most alternatives in a request")
    alignment: bool = Field(description="Whether there is /alignment; not in LibreTranslate")
    requestLimit: int = Field(description="Requests per minute, 0 for no limit; not in LibreTranslate")  # noqa: N815
    formality: list[Pair] = Field(description="Where the form of address can be chosen; not in LibreTranslate")
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
