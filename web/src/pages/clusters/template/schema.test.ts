import { readFileSync, readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { commandOf, refusalsOf } from './create'
import { draftOf, problemAt, readDraft, rowOf, toYAML } from './draft'
import { type Draft, type Json, type Schema, type Shape, hintOf, shapesOf } from './schema'

const shapes = (properties: { [name: string]: Schema | Json }, required: string[] = []) => shapesOf(JSON.stringify({ type: 'object', properties, required }))!
const draft = (of: Shape[], typed: { [name: string]: Draft } = {}) => ({ ...Object.fromEntries(of.map((s) => [s.name, draftOf(s)])), ...typed })
const kinds = (of: Shape[]): string => of.map((s) => `${s.name}:${s.kind}${s.fields.length ? `(${kinds(s.fields)})` : ''}`).join(' ')
const read = (of: Shape[], typed: { [name: string]: Draft }) => {
  const { given, problems } = readDraft(of, draft(of, typed))
  return { given, problems: Object.fromEntries(problems) }
}

describe('shapesOf', () => {
  it('gives each type its field, and YAML to what a form does not express', () => {
    const all = shapes({
      text: { type: 'string' }, whole: { type: 'integer' }, real: { type: 'number' }, yes: { type: 'boolean' }, one: { enum: ['a', 2, null] }, list: { type: 'array', items: { type: 'string' } }, tags: { type: 'object', additionalProperties: { type: 'string' } },
      rows: { type: 'array', items: { type: 'object', additionalProperties: false, properties: { name: { type: 'string' } } } }, group: { type: 'object', properties: { size: { type: 'integer' } } },
      either: { oneOf: [{ type: 'string' }, { type: 'integer' }] }, both: { type: ['string', 'null'] }, any: {}, truth: true, map: { type: 'object', additionalProperties: { type: 'integer' } }, lists: { type: 'array', items: { type: 'array', items: { type: 'string' } } }, objects: { enum: [{ a: 1 }] }, referred: { $ref: '#/$defs/x' },
    })
    expect(kinds(all)).toBe('text:text whole:number real:number yes:choice one:choice list:lines tags:pairs rows:rows(name:text) group:group(size:number) either:yaml both:yaml any:yaml truth:yaml map:yaml lists:yaml objects:yaml referred:yaml')
  })

  it('asks first for what has no default, and ends where a form is in a form in a form', () => {
    const leaf = { type: 'object', properties: { leaf: { type: 'string' } } }
    const deep = { type: 'object', properties: { b: { type: 'object', properties: { c: { type: 'object', properties: { d: leaf } } } } } }
    expect(kinds(shapes({ a: deep, z: { type: 'string' } }, ['z']))).toBe('z:text a:group(b:group(c:group(d:yaml)))')
  })

  it.each(['', 'null', '[]', '{}', '{"properties": 1}', '{'])('takes %j for no schema', (text) => expect(shapesOf(text)).toBeUndefined())

  it('says description, bounds and default', () => {
    const [n, l, r] = shapes({ n: { type: 'integer', description: 'Nodes.', minimum: 0, maximum: 20, default: 1 }, l: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 1, default: ['a'] }, r: { type: 'string', maxLength: 5 } })
    expect([n, l, r].map((s) => hintOf(s!))).toEqual(['Nodes. 0 to 20. Without a value: 1.', 'One a line. Exactly 1 of them. Without a value: ["a"].', 'At most 5 characters.'])
  })
})

describe('readDraft', () => {
  it('sends what differs from the defaults, and shows all', () => {
    const of = shapes({ version: { type: 'string', enum: ['v1', 'v2'], default: 'v1' }, count: { type: 'integer', default: 1 }, region: { type: 'string' }, yes: { type: 'boolean' }, cidrs: { type: 'array', items: { type: 'string' }, default: ['10.0.0.0/8'] }, tags: { type: 'object', additionalProperties: { type: 'string' }, default: {} } }, ['region'])
    const all = readDraft(of, draft(of, { region: 'eu', count: '3', yes: 'false', tags: 'a=b=c' }))
    expect(all.given).toEqual({ region: 'eu', count: 3, yes: false, tags: { a: 'b=c' } })
    expect(all.values).toEqual({ region: 'eu', version: 'v1', count: 3, yes: false, cidrs: ['10.0.0.0/8'], tags: { a: 'b=c' } })
    expect(toYAML(all.values)).toContain('cidrs:\n  - 10.0.0.0/8')
    expect(read(of, { region: 'eu', count: '', cidrs: '' }).given).toEqual({ region: 'eu' })
  })

  it.each<[string, Schema, string, string]>([
    ['what is needed', { type: 'string' }, ' ', 'is needed'],
    ['a fraction', { type: 'integer' }, '1.5', '“1.5” is not a whole number'],
    ['a word', { type: 'number' }, 'one', '“one” is not a number'],
    ['too little', { type: 'integer', minimum: 1 }, '0', 'is at least 1'],
    ['too much', { type: 'integer', maximum: 20 }, '21', 'is at most 20'],
    ['a short text', { type: 'string', minLength: 2 }, 'a', 'needs at least 2 characters'],
    ['a long text', { type: 'string', maxLength: 2 }, 'abc', 'takes at most 2 characters'],
    ['another form', { type: 'string', pattern: '^v' }, '1.36', '“1.36” does not match ^v'],
    ['another form in a list', { type: 'array', items: { type: 'string', pattern: '/' } }, '10.0.0.0/8\n10.0.0.1', '“10.0.0.1” does not match /'],
    ['too many', { type: 'array', maxItems: 1, items: { type: 'string' } }, 'a\nb', 'takes at most 1'],
    ['a tag without a value', { type: 'object', additionalProperties: { type: 'string' } }, 'tier', '"tier" is not KEY=VALUE.'],
    ['bad YAML', {}, 'a: [1', 'line 1: '],
  ])('says what is wrong: %s', (_, schema, text, problem) => {
    const { problems } = read(shapes({ x: schema }, ['x']), { x: text })
    expect(problems['x']).toContain(problem)
  })

  it('sends an empty text where one is needed and a pattern admits it', () => {
    expect(read(shapes({ x: { type: 'string', pattern: '^[a-z]*$' }, y: { type: 'string', pattern: '^[a-z]*$' } }, ['x']), {})).toEqual({ given: { x: '' }, problems: {} })
  })

  it('leaves a pattern that browsers do not know to the hub', () => {
    expect(read(shapes({ x: { type: 'string', pattern: '(?<' } }), { x: 'a' })).toEqual({ given: { x: 'a' }, problems: {} })
  })

  it('takes YAML for what has no field, as values of JSON', () => {
    expect(read(shapes({ x: {} }), { x: 'a: {b: [1, yes, 1.30, "{{ no }}"]}' }).given).toEqual({ x: { a: { b: [1, 'yes', 1.3, '{{ no }}'] } } })
  })
})

// Those that we ship are filled by fields alone.
const ours = '../deploy/clusters'
describe.each(readdirSync(ours, { withFileTypes: true }).filter((d) => d.isDirectory()).map((d) => d.name))('the template %s', (name) => {
  const text = readFileSync(`${ours}/${name}/schema.json`, 'utf8')
  const of = shapesOf(text)!

  it('has a field for each variable', () => {
    expect(of.map((s) => s.name).toSorted()).toEqual(Object.keys((JSON.parse(text) as { properties: object }).properties).toSorted())
    expect(kinds(of)).not.toContain('yaml')
  })

  it('sends nothing of an untouched form, and asks for what has no default', () => {
    const { given, problems } = readDraft(of, draft(of))
    expect(given).toEqual({})
    expect([...problems.values()].every((p) => p === 'is needed')).toBe(true)
    expect([...problems.keys()].toSorted()).toEqual(of.filter((s) => s.required && s.schema.default === undefined).map((s) => s.name).toSorted())
  })

  it('sends of a new pool what was typed', () => {
    const pools = of.find((s) => s.name === 'nodePools')!
    const drafts = draftOf(pools) as Draft[]
    const { given } = readDraft(of, draft(of, { nodePools: [...drafts, { ...rowOf(pools), name: 'large', count: '7' }] }))
    expect((given['nodePools'] as Json[]).at(-1)).toEqual({ name: 'large', count: 7 })
  })
})

it('does the same by command: texts as they are, the rest as JSON', () => {
  const of = shapes({ region: { type: 'string' }, count: { type: 'integer' }, pools: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } } })
  expect(commandOf({ template: 'eks', name: 'shop-1', project: 'shop', management: 'mgmt', tags: { tier: 'prod' } }, of, { region: "eu'; rm -rf ~", count: 3, pools: [{ name: 'a' }] })).toBe(
    "axle clusters create shop-1 --template eks \\\n  --on mgmt \\\n  --project shop \\\n  --tag tier=prod \\\n  --set 'region=eu'\\''; rm -rf ~' \\\n  --set count=3 \\\n  --set 'pools=[{\"name\":\"a\"}]'",
  )
  expect(commandOf({ template: '', name: '', project: 'default', management: '', tags: {} }, of, {})).toBe('axle clusters create NAME --template TEMPLATE')
})

describe('refusalsOf', () => {
  it.each([
    ['variables.regoin: is not a variable of the template; did you mean region?', { regoin: 'is not a variable of the template; did you mean region?' }],
    ['variables.nodePools.0.name: does not match pattern; variables.count: maximum: got 21, want 20', { 'nodePools.0.name': 'does not match pattern', count: 'maximum: got 21, want 20' }],
    ["variables: missing properties 'region', 'version'", { region: 'is needed', version: 'is needed' }],
    ["variables.nodePools.0: missing property 'name'", { 'nodePools.0.name': 'is needed' }],
    ['variables: Two node pools have the same name. (check pool-names of the template)', { '': 'Two node pools have the same name. (check pool-names of the template)' }],
    ['management_cluster: "x" is not one of template eks', { ':management_cluster': '"x" is not one of template eks' }],
    ['cluster "shop-1" exists; choose another name', {}],
  ])('%s', (message, fields) => expect(Object.fromEntries(refusalsOf(new Error(message)))).toEqual(fields))

  it('has a place for the mistakes of parts that have no field of their own', () => {
    const problems = new Map([['cidrs.1', 'is none']])
    expect([problemAt(problems, 'cidrs', true), problemAt(problems, 'cidrs', false), problemAt(problems, 'cidr', true)]).toEqual(['is none', undefined, undefined])
  })
})
