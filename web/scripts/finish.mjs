// After vite build: writes .br and .gz beside each file, prints the sizes, and
// fails when one is over its budget.
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { extname, join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { budgets, firstViews, neverFirst } from './budgets.mjs'

const dist = resolve(import.meta.dirname, '../dist')
const packed = new Set(['.js', '.css', '.html', '.svg', '.json', '.txt'])
const sizes = new Map()

function walk(folder, below = '') {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const relative = below ? `${below}/${name}` : name
    if (statSync(path).isDirectory()) walk(path, relative)
    else if (!/\.(br|gz)$/.test(name) && name !== '.keep') compress(path, relative)
  }
}

function compress(path, relative) {
  const bytes = readFileSync(path)
  const size = { raw: bytes.length, gz: bytes.length, br: bytes.length }
  if (packed.has(extname(path))) {
    const gz = gzipSync(bytes, { level: 9 })
    const br = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } })
    writeFileSync(`${path}.gz`, gz)
    writeFileSync(`${path}.br`, br)
    size.gz = gz.length
    size.br = br.length
  }
  sizes.set(relative, size)
}

const manifestFile = join(dist, '.vite/manifest.json')
const manifest = JSON.parse(readFileSync(manifestFile, 'utf8'))
rmSync(join(dist, '.vite'), { recursive: true })
walk(dist)
if (!existsSync(join(dist, '.keep'))) writeFileSync(join(dist, '.keep'), '')

// reach returns all files that the entries load before anybody clicks.
function reach(entries) {
  const seen = new Set()
  const css = new Set()
  const assets = new Set()
  const visit = (key) => {
    const chunk = manifest[key]
    if (!chunk) throw new Error(`finish: no chunk ${key} in the manifest; change scripts/budgets.mjs`)
    if (seen.has(chunk.file)) return
    seen.add(chunk.file)
    for (const file of chunk.css ?? []) css.add(file)
    for (const file of chunk.assets ?? []) assets.add(file)
    for (const next of chunk.imports ?? []) visit(next)
  }
  entries.forEach(visit)
  return { js: [...seen].filter((f) => f.endsWith('.js')), css: [...css], assets: [...assets] }
}

const sum = (files, kind = 'gz') => files.reduce((n, f) => n + sizes.get(f)[kind], 0)
const over = []
function row(what, bytes, budget, brotli) {
  const bad = bytes > budget
  if (bad) over.push(what)
  const br = brotli === undefined ? '' : `, ${(brotli / 1000).toFixed(1)} kB br`
  console.log(`${bad ? 'OVER' : 'ok  '}  ${what.padEnd(34)} ${(bytes / 1000).toFixed(1).padStart(6)} kB gz of ${budget / 1000} kB${br}`)
}

const js = [...sizes.keys()].filter((f) => f.endsWith('.js'))
const first = new Set()
for (const [route, entries] of Object.entries(firstViews)) {
  const files = reach(entries)
  files.js.forEach((f) => first.add(f))
  row(`JS of ${route}`, sum(files.js), budgets.firstViewJS, sum(files.js, 'br'))
  row(`CSS of ${route}`, sum(files.css), budgets.firstViewCSS)
}
const fonts = [...sizes.keys()].filter((f) => f.endsWith('.woff2'))
row('fonts of the first view', sum(fonts.filter((f) => f.includes('inter'))), budgets.firstViewFonts)
for (const file of js.filter((f) => !first.has(f)).toSorted((a, b) => sizes.get(b).gz - sizes.get(a).gz)) {
  const budget = /editor/.test(file) ? budgets.editorChunk : /terminal/.test(file) ? budgets.terminalChunk : budgets.chunk
  if (sizes.get(file).gz > 10_000 || sizes.get(file).gz > budget) row(file.replace('assets/', ''), sizes.get(file).gz, budget)
}
row('all JS', sum(js), budgets.allJS, sum(js, 'br'))
const holding = (text, files) => files.filter((f) => readFileSync(join(dist, f), 'utf8').includes(text))
for (const [library, text] of Object.entries(neverFirst)) {
  const early = holding(text, [...first])
  if (early.length) over.push(`${library} in a first view (${early.join(', ')})`)
  // Without this the check would pass when the library's text has changed.
  else if (holding(text, js).length === 0) over.push(`${library}: no file has “${text}”; change scripts/budgets.mjs`)
}
if (over.length) {
  console.error(`\nover budget: ${over.join(', ')}`)
  process.exit(1)
}
