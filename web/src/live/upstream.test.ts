import { afterEach, describe, expect, it, vi } from 'vitest'
import { HubError, envelope, hubUpstream, messages } from './upstream'
import { randomOf } from '#/test/random'

function cut(bytes: Uint8Array, sizes: () => number): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      const next = Math.min(bytes.length, at + sizes())
      controller.enqueue(bytes.slice(at, next))
      at = next
      return undefined
    },
  })
}

function join(...parts: Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0))
  let at = 0
  for (const p of parts) {
    out.set(p, at)
    at += p.length
  }
  return out
}

async function all(stream: AsyncIterable<string>): Promise<string[]> {
  const out = []
  for await (const text of stream) out.push(text)
  return out
}

describe('messages', () => {
  it('are the same however the network cuts them', async () => {
    const random = randomOf(11)
    const texts = ['{}', '{"hints":["fleet"]}', JSON.stringify({ at: '1', services: [{ id: 'ü'.repeat(500) }] })]
    const bytes = join(...texts.map((t) => envelope(t)), envelope('{}', 2))
    for (let n = 0; n < 50; n++) expect(await all(messages(cut(bytes, () => 1 + Math.floor(random() * 40))))).toEqual(texts)
  })

  it("end with the hub's error, by its code", async () => {
    const stream = messages(cut(join(envelope('{}'), envelope('{"error":{"code":"out_of_range","message":"too old"}}', 2)), () => 100))
    await expect(all(stream)).rejects.toMatchObject({ code: 'out_of_range', message: 'too old' })
  })

  it('that break off, are compressed or too long, are an error', async () => {
    await expect(all(messages(cut(envelope('{}').slice(0, 6), () => 3)))).rejects.toThrow('broke off')
    await expect(all(messages(cut(envelope('{}', 1), () => 100)))).rejects.toThrow('compressed')
    await expect(all(messages(cut(new Uint8Array([0, 255, 255, 255, 255]), () => 100)))).rejects.toThrow('no answer of the hub')
  })
})

describe('hubUpstream', () => {
  afterEach(() => vi.unstubAllGlobals())

  it('sends the token and the topics, and knows what errors mean', async () => {
    const fetched = vi.fn(() => Promise.resolve(new Response('{"code":"not_found","message":"no such stream"}', { status: 404 })))
    vi.stubGlobal('fetch', fetched)
    const hub = hubUpstream('http://hub', () => 'token')
    const error = await hub.setTopics('st', { services: ['s1'], clusters: [], hints: ['fleet'] }, new AbortController().signal).catch((e: unknown) => e)
    expect(hub.kindOf(error)).toBe('no-stream')
    expect(fetched).toHaveBeenCalledWith('http://hub/axle.hub.v1.Fleet/SetTopics', expect.objectContaining({ body: '{"streamId":"st","topics":{"serviceIds":["s1"],"clusterIds":[],"hints":["fleet"]}}', headers: expect.objectContaining({ 'Axle-Csrf': 'token' }) as unknown }))
    expect(hub.kindOf(new HubError('out_of_range', ''))).toBe('too-old')
    expect(hub.kindOf(new HubError('unauthenticated', ''))).toBe('signed-out')
    expect(hub.kindOf(new HubError('permission_denied', ''))).toBe('forbidden')
    expect(hub.kindOf(new TypeError('Failed to fetch'))).toBe('other')
  })
})
