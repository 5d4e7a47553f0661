// @vitest-environment jsdom
import { expect, test } from 'vitest'
import { close, closeFrame, endingOf, execPath, failure, frame, maxFrame, parse, protocol, resizeFrame, stderr, stdin, stdinFrames, stdout } from './channel'
import { closedBecause } from './session'

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
const message = (channel: number, body: string | Uint8Array) => frame(channel, body).buffer as ArrayBuffer

test('it speaks v5, whose close is channel 255', () => {
  expect(protocol).toBe('v5.channel.k8s.io')
  expect([...closeFrame(stdin)]).toEqual([255, 0])
  expect(parse(closeFrame(stdout).buffer as ArrayBuffer)).toEqual({ channel: close, of: stdout })
})

test('a frame is a channel and its bytes', () => {
  expect([...frame(stdin, 'ä')]).toEqual([0, 0xc3, 0xa4])
  expect([...frame(stdin, '')]).toEqual([0])
})

test('a size is JSON on channel 4', () => {
  const sent = resizeFrame(120, 40)
  expect(sent[0]).toBe(4)
  expect(JSON.parse(text(sent.subarray(1)))).toEqual({ Width: 120, Height: 40 })
})

test('a large paste goes in pieces, and no byte is lost', () => {
  const pasted = 'ü'.repeat(50_000)
  const frames = stdinFrames(pasted)
  expect(frames.every((f) => f[0] === stdin && f.length <= maxFrame + 1)).toBe(true)
  const all = new Uint8Array(frames.flatMap((f) => [...f.subarray(1)]))
  expect(text(all)).toBe(pasted)
  expect(stdinFrames('')).toEqual([])
})

test('output keeps its bytes, of both channels', () => {
  for (const channel of [stdout, stderr] as const) {
    const got = parse(message(channel, new Uint8Array([27, 91, 255])))
    expect(got && 'data' in got && [...got.data]).toEqual([27, 91, 255])
  }
})

test.each([new ArrayBuffer(0), message(failure, ''), message(9, 'x'), new Uint8Array([255]).buffer])('what means nothing is ignored', (data) => {
  expect(parse(data)).toBeUndefined()
})

test('the end says success, an exit code, or the reason', () => {
  expect(parse(message(failure, '{"status":"Success"}'))).toEqual({ channel: failure, end: { ok: true, code: 0, message: 'The command ended.' } })
  expect(endingOf(JSON.stringify({ status: 'Failure', reason: 'NonZeroExitCode', details: { causes: [{ reason: 'ExitCode', message: '3' }] } }))).toMatchObject({ ok: false, code: 3 })
  expect(endingOf(JSON.stringify({ status: 'Failure', details: { causes: [{ reason: 'ExitCode', message: '127' }] } })).message).toContain('no such command')
  expect(endingOf(JSON.stringify({ status: 'Failure', message: 'container not found' }))).toEqual({ ok: false, message: 'container not found' })
  expect(endingOf('not json').message).toBe('not json')
})

test('a closed socket is explained', () => {
  expect(closedBecause(1006, '', false)).toContain('pods/exec')
  expect(closedBecause(1006, '', true)).toContain('connection broke')
  expect(closedBecause(1011, 'idle for 15 minutes', true)).toContain('idle for 15 minutes')
})

test('the request names every part, escaped', () => {
  const path = execPath('a b', 'p/../x', 'c&d', ['sh', '-c', 'echo +1 && x'])
  const url = new URL(path, 'http://hub')
  expect(url.pathname).toBe('/api/v1/namespaces/a%20b/pods/p%2F..%2Fx/exec')
  expect(url.searchParams.getAll('command')).toEqual(['sh', '-c', 'echo +1 && x'])
  expect(url.searchParams.get('container')).toBe('c&d')
  expect(url.searchParams.get('tty')).toBe('true')
})
