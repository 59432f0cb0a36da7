#!/usr/bin/env bash
# better-sse takes the space off a part of a stream that begins with one: "Guten", " Tag" arrives as "GutenTag".
#
# Guess: a stream of plain text that a server writes as server-sent events, with better-sse, hono, h3, sse-starlette and
#        others, arrives with the parts that were sent, those with a space in front as well: it is how tokens are sent.
# Miss:  the format lets a client drop one space behind "data:", and each of the others writes that space. better-sse
#        writes none, so the client takes that of the text, and all words of a translation that is shown token by token
#        are one; of two spaces one is left. With its default, which writes JSON, nothing is lost: it needs the option
#        `serializer` for plain text. fastify-sse-v2 leaves an empty part out.
. "$(dirname "$0")/environment.sh"
npm install --silent --no-audit --no-fund better-sse@0.16.1 eventsource-parser@3.1.1 fastify@5.12.8 \
    fastify-sse-v2@4.2.2 h3@2.0.8 hono@4.13.19
cat >stream.mjs <<'JAVASCRIPT'
import http from 'node:http'
import { createSession } from 'better-sse'
import { createParser } from 'eventsource-parser'
import Fastify from 'fastify'
import { FastifySSEPlugin } from 'fastify-sse-v2'
import { createEventStream, H3 } from 'h3'
import { Hono } from 'hono'
import { streamSSE } from 'hono/streaming'

const PARTS = ['Guten', ' Tag', ',', '  Anna', '']

async function betterSse(options) {
  const server = http.createServer(async (request, response) => {
    const session = await createSession(request, response, options)
    for (const part of PARTS) session.push(part)
    setTimeout(() => response.end(), 200)
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  const stream = await (await fetch(`http://127.0.0.1:${server.address().port}`)).text()
  server.close()
  return stream
}

const hono = new Hono()
hono.get('/', (context) => streamSSE(context, async (stream) => {
  for (const data of PARTS) await stream.writeSSE({ data })
}))
const h3 = new H3()
h3.get('/', (event) => {
  const stream = createEventStream(event)
  ;(async () => {
    for (const part of PARTS) await stream.push(part)
    await stream.close()
  })()
  return stream.send()
})
const fastify = Fastify()
await fastify.register(FastifySSEPlugin)
fastify.get('/', (request, reply) => {
  reply.sse((async function* () {
    for (const data of PARTS) yield { data }
  })())
})

const streams = {
  hono: await (await hono.request('/')).text(),
  h3: await (await h3.request('/')).text(),
  'fastify-sse-v2': (await fastify.inject('/')).body,
  'better-sse, JSON': await betterSse({}),
  'better-sse, text': await betterSse({ serializer: (text) => text }),
}
for (const [name, stream] of Object.entries(streams)) {
  streams[name] = []
  createParser({ onEvent: (event) => streams[name].push(event.data) }).feed(stream)
}
console.log(JSON.stringify(streams))
process.exit(0)
JAVASCRIPT
node stream.mjs >seen.json
python - <<'PYTHON'
import json

from finding import expect

PARTS = ["Guten", " Tag", ",", "  Anna", ""]
with open("seen.json") as file:
    seen = json.load(file)
expect("hono", seen["hono"], PARTS)
expect("h3", seen["h3"], PARTS)
expect("better-sse, JSON", [json.loads(part) for part in seen["better-sse, JSON"]], PARTS)
expect("better-sse, text", "".join(seen["better-sse, text"]), "GutenTag, Anna")
expect("fastify-sse-v2", seen["fastify-sse-v2"], PARTS[:-1])
PYTHON
