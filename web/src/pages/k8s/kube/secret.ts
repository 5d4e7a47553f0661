export function isSecret(o: { apiVersion?: string; kind?: string } | undefined): boolean {
  return o?.kind === 'Secret' && o.apiVersion === 'v1'
}

// textOfValue is a value as a person reads it; undefined when it is no text.
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
