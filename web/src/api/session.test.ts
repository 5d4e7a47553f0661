import { beforeEach, expect, test, vi } from 'vitest'
import type { Session } from './session'

// A hub that knows one session at a time, and the browser's page before it.
let logged: Session
let made: string[]
const reload = vi.fn<() => void>()

const as = (id: string): Session => ({ id, name: `${id}@example.com`, groups: [], admin: false, provedAt: 0, csrf: `token of ${id}` })
const answer = (status: number, body: unknown) => new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } })

function hub(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const request = input instanceof Request ? input : new Request(new URL(String(input), location.origin), init)
  const path = new URL(request.url).pathname
  if (path === '/login/session') return Promise.resolve(answer(200, logged))
  if (request.headers.get('Axle-Csrf') !== logged.csrf) return Promise.resolve(answer(403, { code: 'permission_denied', message: "a call with a session's cookie needs the header Axle-Csrf" }))
  made.push(`${path} by ${logged.id}`)
  return Promise.resolve(answer(200, {}))
}

beforeEach(() => {
  vi.resetModules()
  reload.mockReset()
  made = []
  vi.stubGlobal('location', { origin: 'http://hub.example', pathname: '/settings/tokens', search: '', hash: '', reload, assign: vi.fn<() => void>() })
  vi.stubGlobal('fetch', hub)
})

async function page() {
  const { loadSession, session } = await import('./session')
  const { unary } = await import('./call')
  const { Tokens } = await import('./gen/hub/v1/hub_pb')
  logged = as('ann')
  await loadSession()
  return { session, loadSession, revoke: () => unary(Tokens.method.revoke, { id: 'tok_1' }) }
}

const settled = (work: Promise<unknown>) => Promise.race([work.then(() => 'done', () => 'failed'), new Promise((resolve) => setTimeout(resolve, 50, 'open'))])

test('a call is repeated when the same person logged in again', async () => {
  const { revoke, session } = await page()
  logged = { ...as('ann'), csrf: 'another' }
  expect(await settled(revoke())).toBe('done')
  expect(made).toEqual(['/axle.hub.v1.Tokens/Revoke by ann'])
  expect(session().csrf).toBe('another')
  expect(reload).not.toHaveBeenCalled()
})

test('a call that one person began is not made as another', async () => {
  const { revoke, session } = await page()
  logged = as('bob')
  expect(await settled(revoke())).toBe('open')
  expect(await settled(revoke())).toBe('open')
  expect(made).toEqual([])
  expect(session().id).toBe('ann')
  expect(reload).toHaveBeenCalledTimes(1)
})

test('the page of one person does not become that of another', async () => {
  const { loadSession, session } = await page()
  logged = as('bob')
  expect(await settled(loadSession())).toBe('open')
  expect(session().id).toBe('ann')
  expect(reload).toHaveBeenCalledTimes(1)
})
