#!/usr/bin/env bash
# FastAPI sends a score of -inf or nan as null if the endpoint states its type, and answers 500 if it does not.
#
# Guess: JSON has neither, so both are errors: status 500, as for any value that cannot be written.
# Miss:  an endpoint with a response model writes them with pydantic, which makes null of them, though the schema of the
#        server says "number". The score of a translation that has a forbidden token, or the mean over an empty text, so
#        arrives with status 200, and a client that reads it with the same model fails. The other way, NaN in a request
#        is taken for a number.
. "$(dirname "$0")/environment.sh" fastapi==0.165.0 pydantic==2.14.3 httpx==0.28.1
python - <<'PYTHON'
import asyncio

import httpx
from fastapi import FastAPI
from finding import expect
from pydantic import BaseModel, ValidationError

app = FastAPI()


class Translation(BaseModel):
    score: float


@app.get("/stated")
def stated(score: float) -> Translation:
    return Translation(score=score)


@app.get("/unstated")
def unstated(score: float):
    return {"score": score}


@app.post("/sent")
def sent(translation: Translation) -> str:
    return repr(translation.score)


async def answers():
    json = {"content-type": "application/json"}
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://server") as client:
        for score in ("-0.5", "-inf", "nan"):
            for path in ("/stated", "/unstated"):
                answer = await client.get(path, params={"score": score})
                yield f"{path}, {score}", (answer.status_code, answer.text)
        answer = await client.post("/sent", content=b'{"score": NaN}', headers=json)
        yield "/sent, NaN", (answer.status_code, answer.text)


async def seen():
    return [answer async for answer in answers()]


wrong = (500, "Internal Server Error")
number, null = (200, '{"score":-0.5}'), (200, '{"score":null}')
stated_answers = [number, number, null, wrong, null, wrong, (200, '"nan"')]
for (what, answer), expected in zip(asyncio.run(seen()), stated_answers, strict=True):
    expect(what, answer, expected)
score = app.openapi()["components"]["schemas"]["Translation"]["properties"]["score"]
expect("type in the schema", score["type"], "number")
try:
    Translation.model_validate_json(null[1])
    read = True
except ValidationError:
    read = False
expect("the model reads what it wrote", read, False)
PYTHON
