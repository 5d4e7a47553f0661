import type { KubeObject } from './object'

// What stands for a secret value, with its size. The number tells two apart only
// by length.
export const dots = '••••••••'

export function isSecret(o: { apiVersion?: string; kind?: string } | undefined): boolean {
  return o?.kind === 'Secret' && o.apiVersion === 'v1'
}

function sizeOf(base64: string): number {
  const clean = base64.replaceAll(/[^A-Za-z0-9+/]/g, '')
  return Math.floor((clean.length * 3) / 4)
}

const copies = new Set(['kubectl.kubernetes.io/last-applied-configuration'])

// maskSecret returns a Secret whose values are gone: also those in annotations
// that keep a copy of the object. It is called where an answer arrives, so that
// nothing behind it ever holds a value.
export function maskSecret<T extends KubeObject>(o: T): T {
  if (!isSecret(o)) return o
  const masked = { ...o, metadata: { ...o.metadata } } as KubeObject
  for (const field of ['data', 'stringData']) {
    const values = o[field] as Record<string, string> | undefined
    if (values) masked[field] = Object.fromEntries(Object.entries(values).map(([k, v]) => [k, `${dots} (${field === 'data' ? sizeOf(String(v ?? '')) : new Blob([String(v ?? '')]).size} bytes)`]))
  }
  if (masked.metadata.annotations) {
    masked.metadata.annotations = Object.fromEntries(Object.entries(masked.metadata.annotations).map(([k, v]) => [k, copies.has(k) ? dots : v]))
  }
  return masked as T
}

export function isMask(value: unknown): boolean {
  return typeof value === 'string' && value.startsWith(dots)
}

// unmask puts the values of the live Secret where the edited one still has masks.
// A mask for a key that the live one has not is a mistake of the person.
export function unmask(edited: KubeObject, live: KubeObject): KubeObject {
  const out = { ...edited, metadata: { ...edited.metadata } } as KubeObject
  for (const field of ['data', 'stringData']) {
    const values = edited[field] as Record<string, unknown> | undefined
    if (!values) continue
    out[field] = Object.fromEntries(
      Object.entries(values).map(([k, v]) => {
        if (!isMask(v)) return [k, v]
        const real: unknown = live['data']?.[k]
        if (real === undefined || field !== 'data') throw new Error(`${field}.${k} is masked, and the Secret on the cluster has no such key: write its value`)
        return [k, real]
      }),
    )
  }
  const annotations = edited.metadata?.annotations
  if (annotations) {
    out.metadata.annotations = Object.fromEntries(
      Object.entries(annotations).flatMap(([k, v]) => {
        if (!isMask(v)) return [[k, v]]
        const real = live.metadata.annotations?.[k]
        return real === undefined ? [] : [[k, real]]
      }),
    )
  }
  return out
}

// maskChanges masks a Secret after a write, and says which values differ.
export function maskChanges(after: KubeObject, before: KubeObject): KubeObject {
  const masked = maskSecret(after)
  const data = masked['data'] as Record<string, string> | undefined
  if (data) {
    for (const key of Object.keys(data)) {
      const was: unknown = before['data']?.[key]
      if (was !== undefined && was !== after['data'][key]) data[key] = `${data[key]} changed`
    }
  }
  return masked
}

// textOf is a value as a person reads it; undefined when it is no text.
export function textOfValue(base64: string): string | undefined {
  try {
    const raw = Uint8Array.from(atob(base64), (c) => c.codePointAt(0)!)
    const text = new TextDecoder('utf-8', { fatal: true }).decode(raw)
    // oxlint-disable-next-line no-control-regex -- those are what makes it no text
    return /[\u0000-\u0008\u000E-\u001F]/.test(text) ? undefined : text
  } catch {
    return undefined
  }
}
