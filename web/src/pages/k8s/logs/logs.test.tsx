import { render, screen } from '@testing-library/react'
import { expect, test } from 'vitest'
import { LogView } from './LogView'
import { plain } from './ansi'
import { LogBuffer, type LogFilter, capacity, regexOf } from './buffer'
import { Overlap } from './overlap'
import { levelOf, levels, maxLine, parseLine } from './line'

const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString()
const line = (ms: number, text: string) => ({ time: at(ms), text: plain(text), level: levelOf(text), source: 0 })
const everything: LogFilter = { match: undefined, not: undefined, levels: new Set(levels) }

const ESC = '\u001B'
test.each([
  [`${ESC}[31mred${ESC}[0m`, 'red'],
  [`${ESC}[38;2;1;2;3mtrue${ESC}[m colour`, 'true colour'],
  [`${ESC}]8;;https://evil.example\u0007click${ESC}]8;;\u0007`, 'click'],
  [`${ESC}]0;title${ESC}\\text`, 'text'],
  [`${ESC}]52;c;ZXZpbA==\u0007clip`, 'clip'],
  [`${ESC}]0;never ends`, ''],
  [`${ESC}Pdevice${ESC}\\after`, 'after'],
  [`${ESC}(B${ESC}=plain`, 'plain'],
  [`\u009B31mC1`, 'C1'],
  ['10%\r50%\r100%', '100%'],
  ['windows\r', 'windows'],
  ['a\u202Egnp.exe', 'agnp.exe'],
  ['bell\u0007 null\u0000', 'bell null'],
  ['tab\tstays', 'tab\tstays'],
  ['ünïcödé 🙂', 'ünïcödé 🙂'],
  [`${ESC}`, ''],
  [`cut ${ESC}[`, 'cut '],
])('%j is shown as %j', (raw, shown) => {
  expect(plain(raw)).toBe(shown)
})

test('no input leaves an escape or control character behind', () => {
  // A small generator with a fixed seed: the same 20,000 inputs each time.
  let seed = 42
  const next = (n: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) % n
  const alphabet = [ESC, '[', ']', ';', 'm', '\u0007', '\\', 'P', '0', '9', '\u009B', '\u009D', '\u009C', '\r', 'x', '<', '(', '\u0000']
  for (let i = 0; i < 20_000; i++) {
    const text = Array.from({ length: next(14) }, () => alphabet[next(alphabet.length)]).join('')
    // oxlint-disable-next-line no-control-regex -- that is what must not be there
    expect(plain(text)).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/)
  }
})

test('a hostile line is text, and nothing of it becomes an element', () => {
  const buffer = new LogBuffer()
  buffer.setFilter(everything)
  buffer.add([line(1, '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'), line(2, `${ESC}]8;;javascript:alert(1)\u0007link${ESC}]8;;\u0007`)])
  const { container } = render(<LogView label="Log" lines={buffer.visible()} version={1} names={['a']} wrap={false} times />)
  expect(container.querySelector('img, script, a')).toBeNull()
  expect(screen.getByText(/<img src=x/)).toBeDefined()
  expect(screen.getByText('link')).toBeDefined()
  expect('hacked' in window).toBe(false)
})

test('levels are recognised where programs write them', () => {
  expect(levelOf('E0102 10:00:00.1 file.go] bad')).toBe('error')
  expect(levelOf('{"level":"warn","msg":"x"}')).toBe('warn')
  expect(levelOf('level=info msg=ok')).toBe('info')
  expect(levelOf('[DEBUG] x')).toBe('debug')
  expect(levelOf('time="x" level=fatal')).toBe('error')
  expect(levelOf('informative terror')).toBe('other')
})

test('a line has its time, and a monstrous one is cut', () => {
  expect(parseLine('2026-01-01T00:00:00.123456789Z hello', 0, 1)).toMatchObject({ time: '2026-01-01T00:00:00.123456789Z', text: 'hello' })
  expect(parseLine('no time', 0, 1)).toMatchObject({ time: '', text: 'no time' })
  expect(parseLine('x'.repeat(maxLine + 10), 0, 1).text).toMatch(/… 10 more characters$/)
})

test('the buffer keeps the last 50,000 lines, and says how many fell out', () => {
  const buffer = new LogBuffer()
  buffer.setFilter(everything)
  for (let i = 0; i < 60; i++) buffer.add(Array.from({ length: 1_000 }, (_, j) => line(i * 1_000 + j, `n ${i * 1_000 + j}`)))
  expect(buffer.size).toBeLessThanOrEqual(capacity + 2_500)
  expect(buffer.size + buffer.dropped).toBe(60_000)
  expect(buffer.all().at(-1)?.text).toBe('n 59999')
  expect(buffer.all()[0]?.text).toBe(`n ${buffer.dropped}`)
  expect(buffer.visible()).toHaveLength(buffer.size)
  expect(buffer.visible()[0]?.id).toBe(buffer.all()[0]?.id)
})

test('a small ring is exact', () => {
  const buffer = new LogBuffer(3)
  buffer.add([1, 2, 3, 4, 5].map((n) => line(n, `${n}`)))
  expect(buffer.all().map((l) => l.text)).toEqual(['3', '4', '5'])
  expect(buffer.dropped).toBe(2)
})

test('a filter applies to what is there and to what comes', () => {
  const buffer = new LogBuffer()
  buffer.add([line(1, 'GET /a 200'), line(2, 'GET /b 500 error'), line(3, 'ping')])
  buffer.setFilter({ ...everything, match: regexOf('get|ping').regex, not: regexOf('/b').regex })
  expect(buffer.visible().map((l) => l.text)).toEqual(['GET /a 200', 'ping'])
  buffer.add([line(4, 'GET /c'), line(5, 'POST /c')])
  expect(buffer.visible().map((l) => l.text)).toEqual(['GET /a 200', 'ping', 'GET /c'])
  buffer.setFilter({ ...everything, levels: new Set(['error']) })
  expect(buffer.visible().map((l) => l.text)).toEqual(['GET /b 500 error'])
})

test('a wrong expression is a message, and case counts only with capitals', () => {
  expect(regexOf('(').problem).toMatch(/Unterminated|Invalid/)
  expect(regexOf('').regex).toBeUndefined()
  expect(regexOf('err').regex?.test('ERROR')).toBe(true)
  expect(regexOf('Err').regex?.test('ERROR')).toBe(false)
})

test('a log that is read again loses no line and repeats none', () => {
  const overlap = new Overlap()
  const all = [1, 2, 2, 2, 3].map(at)
  const taken = (times: string[]) => times.filter((t) => overlap.fresh(t)).length
  // Within a stream, lines of one moment in two messages are all there.
  expect(taken(all.slice(0, 2))).toBe(2)
  expect(taken(all.slice(2, 3))).toBe(1)
  overlap.resume()
  expect(all.map((t) => overlap.fresh(t))).toEqual([false, false, false, true, true])
  overlap.resume()
  expect(taken(all)).toBe(0)
  expect(taken([at(4), '', at(4)])).toBe(3)
})
