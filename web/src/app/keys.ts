// The keyboard: bindings of what is on the screen, the innermost last. One
// listener; off while somebody types, and single letters can be turned off.

export interface Binding {
  // "j", "Shift+x", "Escape", "mod+k" (⌘ or Ctrl), or a chord such as "g c".
  keys: string
  // What it does, for the sheet.
  does: string
  run: (event: KeyboardEvent) => void
  // Works while somebody types.
  typing?: boolean
  // Left out of the sheet.
  quiet?: boolean
}

export interface Scope {
  name: string
  bindings: Binding[]
}

const scopes: Scope[] = []
let chord = ''
let chordAt = 0
let letters = true

const chordMillis = 1_200

export function setLetters(on: boolean): void {
  letters = on
}

export function addScope(scope: Scope): () => void {
  scopes.push(scope)
  return () => {
    scopes.splice(scopes.indexOf(scope), 1)
  }
}

// activeScopes are the scopes on the screen, the innermost first.
export function activeScopes(): Scope[] {
  return scopes.toReversed()
}

export function nameOf(event: KeyboardEvent): string {
  const parts = []
  if (event.ctrlKey || event.metaKey) parts.push('mod')
  if (event.altKey) parts.push('Alt')
  const plain = event.key.length === 1
  if (event.shiftKey && (!plain || /[a-z]/i.test(event.key))) parts.push('Shift')
  parts.push(plain ? event.key.toLowerCase() : event.key)
  return parts.join('+')
}

export function types(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target.isContentEditable || target.closest('[data-keys="off"]')) return true
  if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true
  return target instanceof HTMLInputElement && !['checkbox', 'radio', 'button', 'submit', 'range'].includes(target.type)
}

function find(keys: string): Binding | undefined {
  for (const scope of activeScopes()) {
    const found = scope.bindings.find((b) => b.keys === keys)
    if (found) return found
  }
  return undefined
}

export function handle(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || ['Shift', 'Control', 'Alt', 'Meta'].includes(event.key)) return
  const name = nameOf(event)
  const typing = types(event.target)
  const chorded = chord && event.timeStamp - chordAt < chordMillis ? find(`${chord} ${name}`) : undefined
  chord = ''
  const binding = chorded ?? find(name)
  const letter = /^(Shift\+)?[^+]$/.test(name)
  if (!chorded && !binding && !typing && letters && scopes.some((s) => s.bindings.some((b) => b.keys.startsWith(`${name} `)))) {
    chord = name
    chordAt = event.timeStamp
    return
  }
  if (!binding || (typing && !binding.typing) || (letter && !letters)) return
  // An open dialog or menu has the keyboard to itself.
  if (!binding.typing && document.querySelector('[aria-modal="true"], [data-overlay]')) return
  event.preventDefault()
  binding.run(event)
}
