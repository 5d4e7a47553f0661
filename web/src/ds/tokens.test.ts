import { readFileSync, readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const css = readFileSync('src/ds/tokens.css', 'utf8')

function block(start: string): Record<string, string> {
  const from = css.indexOf(start)
  expect(from, `${start} is in tokens.css`).toBeGreaterThanOrEqual(0)
  const text = css.slice(from, css.indexOf('}', from))
  return Object.fromEntries([...text.matchAll(/--([a-z-]+[0-9]?):\s*(#[0-9a-f]{6})/g)].map((m) => [m[1]!, m[2]!]))
}

function light(colour: string): number {
  const [r, g, b] = [1, 3, 5].map((i) => Number.parseInt(colour.slice(i, i + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!
}

function contrast(a: string, b: string): number {
  const [x, y] = [light(a), light(b)].toSorted((p, q) => q - p)
  return (x! + 0.05) / (y! + 0.05)
}

const themes = { dark: block(':root, :root[data-theme="dark"] {'), light: block(':root[data-theme="light"] {') }
const surfaces = ['bg', 'surface', 'raised']
const texts = ['text', 'muted', 'accent', 'good', 'busy', 'warn', 'bad', 'stale', 'idle']

describe.each(Object.entries(themes))('the %s theme', (_, colours) => {
  it('has text of at least 5.1:1 on all three surfaces', () => {
    for (const surface of surfaces) {
      for (const text of texts) expect(contrast(colours[text]!, colours[surface]!), `${text} on ${surface}`).toBeGreaterThanOrEqual(5.1)
    }
  })

  it('has status colours of at least 4.5:1 on their own backgrounds', () => {
    for (const tone of ['good', 'busy', 'warn', 'bad', 'stale', 'idle']) {
      expect(contrast(colours[tone]!, colours[`${tone}-back`]!), tone).toBeGreaterThanOrEqual(4.5)
      expect(contrast(colours['text']!, colours[`${tone}-back`]!), `text on ${tone}`).toBeGreaterThanOrEqual(7)
    }
  })

  it('has lines of graphs of at least 4.5:1 on all three surfaces', () => {
    for (const surface of surfaces) for (const line of Object.keys(colours).filter((n) => n.startsWith('line-'))) expect(contrast(colours[line]!, colours[surface]!), `${line} on ${surface}`).toBeGreaterThanOrEqual(4.5)
    expect(Object.keys(colours).filter((n) => n.startsWith('line-'))).toHaveLength(8)
  })

  it('has control borders of at least 3.19:1', () => {
    for (const surface of surfaces) expect(contrast(colours['border']!, colours[surface]!), surface).toBeGreaterThanOrEqual(3.19)
  })
})

// axe looks at every page in the dark: whatever it can read there can be read in light too.
describe('what can be told apart in the dark can be in light', () => {
  // Lines are drawn on surfaces alone.
  const names = Object.keys(themes.dark).filter((n) => !n.startsWith('line-'))
  it.each([
    ['text', names, 4.5],
    ['a link in a text, which has no underline', ['accent', 'text', 'muted'], 3],
  ])('%s', (_, which, least) => {
    const pairs = which.flatMap((a, i) => which.slice(i + 1).map((b) => [a, b] as const))
    const lost = pairs.filter(([a, b]) => contrast(themes.dark[a]!, themes.dark[b]!) >= least && contrast(themes.light[a]!, themes.light[b]!) < least)
    // A hairline is no ground for text: the statuses have grounds of their own.
    expect(lost.map((pair) => pair.toSorted().join(' on ')).filter((pair) => pair !== 'hairline on warn')).toEqual([])
  })
})

it('is where every colour comes from', () => {
  const sheets = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith('.css') && !f.endsWith('tokens.css'))
  const own = sheets.flatMap((f) => {
    const text = readFileSync(`src/${f}`, 'utf8').replaceAll(/\/\*.*?\*\//gs, '')
    return [...text.matchAll(/#[0-9a-f]{3,8}\b|\b(?:rgb|rgba|hsl|hwb|lab|lch|oklab|oklch|light-dark)\(|\b(?:color|background|background-color):\s*(?:white|black|red|gr[ae]y)\b|forced-color-adjust/gi)].map((m) => `${f}: ${m[0]}`)
  })
  expect(own.toSorted()).toEqual([
    // A cell is its colour.
    'pages/fleet/HeatMap.module.css: forced-color-adjust',
    // The stripe before the lines of a pod, beside its name.
    'pages/k8s/logs/Logs.module.css: oklch(',
  ])
})

it('says the same in the light theme that is chosen and the one of the system', () => {
  expect(block(':root:not([data-theme]) {')).toEqual(themes.light)
})
