// What of a JSON Schema a form expresses. The rest is written as YAML: the hub validates all of it.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

export interface Schema {
  type?: string | string[]
  title?: string
  description?: string
  default?: Json
  enum?: Json[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  minItems?: number
  maxItems?: number
  items?: Schema
  properties?: { [name: string]: Schema }
  required?: string[]
  additionalProperties?: boolean | Schema
}

// text, number and choice are one field; lines is a list with one value a line, pairs an object with KEY=VALUE a line; rows is a
// list of groups, and a group an object with its properties; yaml is what has no field.
export type Kind = 'text' | 'number' | 'choice' | 'lines' | 'pairs' | 'rows' | 'group' | 'yaml'

export interface Shape {
  name: string
  kind: Kind
  required: boolean
  schema: Schema
  // The properties of a group, or of each row.
  fields: Shape[]
}

// A draft is what a person has typed so far: text for each field, in the structure of the value.
export type Draft = string | Draft[] | { [name: string]: Draft }

// The deepest that groups are in each other: a form in a form in a form is not read by anybody.
const deepest = 3

// What makes a value depend on more than itself.
const composed = ['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'not', 'if', 'prefixItems', 'patternProperties', 'const', 'contains']

// shapesOf are the variables of a template; undefined for a text that is no schema of an object.
export function shapesOf(text: string): Shape[] | undefined {
  let schema: unknown
  try {
    schema = JSON.parse(text)
  } catch {
    return undefined
  }
  return isObject(schema) && isObject(schema['properties']) ? fieldsOf(schema as Schema, 0) : undefined
}

function isObject(value: unknown): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

// Required ones first; otherwise as the template has them.
function fieldsOf(schema: Schema, depth: number): Shape[] {
  const required = new Set(schema.required)
  const all = Object.entries(schema.properties ?? {}).map(([name, of]) => shapeOf(name, isObject(of) ? of : {}, required.has(name), depth))
  const asked = (s: Shape) => Number(!(s.required && s.schema.default === undefined))
  return depth === 0 ? all.toSorted((a, b) => asked(a) - asked(b)) : all
}

function shapeOf(name: string, schema: Schema, required: boolean, depth: number): Shape {
  const kind = kindOf(schema, depth)
  const of = kind === 'rows' ? schema.items! : schema
  return { name, kind, required, schema, fields: kind === 'rows' || kind === 'group' ? fieldsOf(of, depth + 1) : [] }
}

function kindOf(schema: Schema, depth: number): Kind {
  if (composed.some((key) => key in schema)) return 'yaml'
  if (schema.enum) return schema.enum.every((v) => v === null || typeof v !== 'object') ? 'choice' : 'yaml'
  switch (schema.type) {
    case 'string':
      return 'text'
    case 'integer':
    case 'number':
      return 'number'
    case 'boolean':
      return 'choice'
    case 'array': {
      if (!isObject(schema.items)) return 'yaml'
      const items = kindOf(schema.items, depth + 1)
      return items === 'text' || items === 'number' ? 'lines' : items === 'group' ? 'rows' : 'yaml'
    }
    case 'object':
      if (schema.properties && Object.keys(schema.properties).length > 0) return isObject(schema.additionalProperties) || depth >= deepest ? 'yaml' : 'group'
      return isObject(schema.additionalProperties) && kindOf(schema.additionalProperties, depth) === 'text' ? 'pairs' : 'yaml'
    default:
      return 'yaml'
  }
}

// choicesOf are the values of a choice.
export function choicesOf(shape: Shape): Json[] {
  return shape.schema.enum ?? [true, false]
}

// hintOf is what a person is to know about a field: its description, its bounds, its default.
export function hintOf({ schema: s, kind }: Shape): string {
  const of = kind === 'lines' ? (s.items ?? {}) : s
  const range = (least: number | undefined, most: number | undefined, of = '') => (least === undefined && most === undefined ? '' : least === undefined ? `At most ${most}${of}.` : most === undefined ? `At least ${least}${of}.` : least === most ? `Exactly ${least}${of}.` : `${least} to ${most}${of}.`)
  const standard = s.default === undefined || kind === 'choice' || kind === 'rows' || kind === 'group' || isEmpty(s.default) ? '' : `Without a value: ${typeof s.default === 'string' ? s.default : JSON.stringify(s.default)}.`
  return [s.description, kind === 'lines' && 'One a line.', kind === 'pairs' && 'KEY=VALUE, one a line.', kind === 'yaml' && 'YAML.', range(of.minimum, of.maximum), range(of.minLength, of.maxLength, ' characters'), range(s.minItems, s.maxItems, ' of them'), standard].filter(Boolean).join(' ')
}

export function isEmpty(value: Json): boolean {
  return value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)
}
