import type { Batch, Upstream } from './machine'
import type { TopicSet } from './topics'

// The hub's Watch and SetTopics in Connect's JSON form, by fetch alone: the
// worker then carries no copy of the API's library and messages, and tabs turn
// rows into messages themselves.

const service = '/axle.hub.v1.Fleet/'

// Envelopes greater than this are no answer of the hub.
const maxEnvelope = 16 << 20

// HubError is an error in the hub's words, by Connect's name of its code.
export class HubError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message)
  }
}

interface Answer {
  streamId?: string
  resumeToken?: string
  at?: string
  services?: Batch['services']
  clusters?: Batch['clusters']
  gone?: string[]
  hints?: string[]
}

export function hubUpstream(origin: string, csrf: () => string): Upstream {
  const post = async (method: string, type: string, body: BodyInit, signal: AbortSignal): Promise<Response> => {
    const response = await fetch(origin + service + method, {
      method: 'POST',
      headers: { 'Content-Type': type, 'Connect-Protocol-Version': '1', 'Axle-Csrf': csrf() },
      body,
      signal,
    })
    if (!response.ok) {
      const said = (await response.json().catch(() => ({}))) as { code?: string; message?: string }
      throw new HubError(said.code ?? (response.status === 401 ? 'unauthenticated' : 'unavailable'), said.message ?? `the hub answered ${response.status}`)
    }
    return response
  }
  return {
    async *watch(topics, resumeToken, signal) {
      const response = await post('Watch', 'application/connect+json', envelope(JSON.stringify({ topics: named(topics), resumeToken })), signal)
      for await (const text of messages(response.body!)) yield batchOf(JSON.parse(text) as Answer)
    },
    async setTopics(streamId, topics, signal) {
      await post('SetTopics', 'application/json', JSON.stringify({ streamId, topics: named(topics) }), signal)
    },
    kindOf(error) {
      switch (error instanceof HubError ? error.code : '') {
        case 'out_of_range':
          return 'too-old'
        case 'not_found':
          return 'no-stream'
        case 'unauthenticated':
          return 'signed-out'
        case 'permission_denied':
          return 'forbidden'
        default:
          return 'other'
      }
    },
  }
}

function named(t: TopicSet) {
  return { serviceIds: t.services, clusterIds: t.clusters, hints: t.hints }
}

function batchOf(a: Answer): Batch {
  return { streamId: a.streamId ?? '', resumeToken: a.resumeToken ?? '', at: BigInt(a.at ?? 0), services: a.services ?? [], clusters: a.clusters ?? [], gone: a.gone ?? [], hints: a.hints ?? [] }
}

// envelope is one message of a stream: a byte of flags, its length, itself.
export function envelope(text: string, flags = 0): Uint8Array<ArrayBuffer> {
  const body = new TextEncoder().encode(text)
  const out = new Uint8Array(5 + body.length)
  out[0] = flags
  new DataView(out.buffer).setUint32(1, body.length)
  out.set(body, 5)
  return out
}

// messages are the texts of a stream, however the network cuts it. The last
// envelope says whether it ended well.
export async function* messages(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = stream.getReader()
  let held = new Uint8Array(0)
  try {
    for (;;) {
      while (held.length >= 5) {
        const size = new DataView(held.buffer, held.byteOffset).getUint32(1)
        if (size > maxEnvelope) throw new HubError('internal', `a message of ${size} bytes is no answer of the hub`)
        if (held.length < 5 + size) break
        const flags = held[0]!
        const text = new TextDecoder().decode(held.subarray(5, 5 + size))
        held = held.subarray(5 + size)
        if (flags & 1) throw new HubError('internal', 'the hub sent a compressed message that nobody asked for')
        if (flags & 2) {
          const { error } = JSON.parse(text) as { error?: { code: string; message?: string } }
          if (error) throw new HubError(error.code, error.message ?? error.code)
          return
        }
        yield text
      }
      const { done, value } = await reader.read()
      if (done) throw new HubError('unavailable', 'the stream broke off')
      const more = new Uint8Array(held.length + value.length)
      more.set(held)
      more.set(value, held.length)
      held = more
    }
  } finally {
    void reader.cancel().catch(() => {})
  }
}
