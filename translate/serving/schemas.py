"""Requests and responses, for the OpenAPI description. The server reads requests itself, as JSON or as a form."""

from typing import Any, Literal

from pydantic import BaseModel, Field

_KEY = Field(default=None, description="API key", examples=["xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"])


class TranslateRequest(BaseModel):
    """Body of /translate."""

    q: str | list[str] = Field(description="Text(s) to translate", examples=["Guten Morgen"])
    source: str = Field(description='Source language code, or "auto"', examples=["de"])
    target: str = Field(description="Target language code", examples=["en"])
    format: Literal["text", "html"] = Field(default="text", description="Format of the text")
    alternatives: int = Field(default=0, description="Number of alternative translations", examples=[3])
    sentences: bool = Field(default=False, description="Whether to describe each sentence; not in LibreTranslate")
    api_key: str | None = _KEY


class Detection(BaseModel):
    """A language with its confidence."""

    confidence: float = Field(description="Percent", examples=[98.0])
    language: str = Field(description="Language code", examples=["de"])


class Sentence(BaseModel):
    """A sentence, or the white space between two; joined they are the text."""

    source: str
    text: str = Field(description="Translation")
    suspicious: bool = Field(description="Whether the translation may be wrong")
    flags: list[str] = Field(description="What was noticed", examples=[["missing"]])


class TranslateResponse(BaseModel):
    """Answer of /translate; a list of texts has lists."""

    translatedText: str | list[str]  # noqa: N815 -- LibreTranslate's name
    detectedLanguage: Detection | list[Detection] | None = None  # noqa: N815
    alternatives: list[str] | list[list[str]] | None = None
    sentences: list[Sentence] | list[list[Sentence]] | None = None


class AlignmentRequest(BaseModel):
    """Body of /alignment."""

    q: str = Field(description="Sentence", examples=["Guten Morgen"])
    translation: str = Field(description="Its translation", examples=["Good morning"])
    source: str = Field(description="Language of the sentence", examples=["de"])
    target: str = Field(description="Language of the translation", examples=["en"])
    api_key: str | None = _KEY


class Alignment(BaseModel):
    """Answer of /alignment."""

    source: list[str] = Field(description="Words and punctuation marks of the sentence")
    target: list[str] = Field(description="Words and punctuation marks of the translation")
    weights: list[list[float]] = Field(description="Attention of each target word to each source word")


class DetectRequest(BaseModel):
    """Body of /detect."""

    q: str = Field(description="Text to detect", examples=["Guten Morgen"])
    api_key: str | None = _KEY


class FileRequest(BaseModel):
    """Form of /translate_file."""

    file: bytes = Field(
        description="Text, Markdown, HTML, subtitles or TSV in UTF-8", json_schema_extra={"format": "binary"}
    )
    source: str = Field(description='Source language code, or "auto"', examples=["de"])
    target: str = Field(description="Target language code", examples=["en"])
    api_key: str | None = _KEY


class FileResponse(BaseModel):
    """Answer of /translate_file."""

    translatedFileUrl: str = Field(description="Address of the translated file")  # noqa: N815


class SuggestRequest(BaseModel):
    """Body of /suggest."""

    q: str = Field(description="Original text", examples=["Guten Morgen"])
    s: str = Field(description="Suggested translation", examples=["Good morning"])
    source: str = Field(description="Language of the original text", examples=["de"])
    target: str = Field(description="Language of the translation", examples=["en"])
    api_key: str | None = _KEY


class SuggestResponse(BaseModel):
    """Answer of /suggest."""

    success: bool


class Language(BaseModel):
    """A language and the languages that it can be translated into."""

    code: str
    name: str
    targets: list[str]


class Health(BaseModel):
    """Answer of /health."""

    status: str


class Error(BaseModel):
    """Answer to a request that was refused."""

    error: str


def takes(form: type[BaseModel], *types: str) -> dict[str, Any]:
    """Return the OpenAPI description of a request body.

    Args:
        form: the parameters.
        types: media types of the body.
    """
    schema = form.model_json_schema()
    schema.pop("title"), schema.pop("description")
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in types}}}


JSON_OR_FORM = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of the error responses with these statuses."""
    return {status: {"model": Error} for status in statuses}
