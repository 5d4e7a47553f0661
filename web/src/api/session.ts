// The session of this browser. The cookie itself is not readable here; the hub
// tells who it belongs to, and the token that calls need beside it.

export interface Session {
  id: string
  name: string
  groups: string[]
  admin: boolean
  // When the person last proved who they are, in microseconds.
  provedAt: number
  csrf: string
}

let current: Session | undefined

export function session(): Session {
  if (!current) throw new Error('no session yet: the shell loads it first')
  return current
}

export function setSession(s: Session): void {
  current = s
}

// loadSession asks the hub who is logged in. Nobody: the browser goes to the
// login page, and the promise stays open. Somebody else than before: the page is
// loaded anew, and the promise stays open too, so that nothing that the one began
// is done as the other.
export async function loadSession(signal?: AbortSignal): Promise<Session> {
  const response = await fetch('/login/session', { headers: { Accept: 'application/json' }, signal: signal ?? null })
  if (response.status === 401) return logIn()
  if (!response.ok) throw new Error(`GET /login/session answered ${response.status}: ${(await response.text()).slice(0, 500)}`)
  const next = (await response.json()) as Session
  if (current && current.id !== next.id) return leave(() => location.reload())
  current = next
  return current
}

// here is where to return to after a login: a path of this origin.
export function here(): string {
  return location.pathname + location.search + location.hash
}

let leaving = false

// leave goes to another page, once; nothing that waits for it continues here.
function leave(go: () => void): Promise<never> {
  if (!leaving) {
    leaving = true
    go()
  }
  return new Promise(() => {})
}

export function logIn(): Promise<never> {
  return leave(() => location.assign(`/login?next=${encodeURIComponent(here())}`))
}

// proveHref is where a person proves again that it is them.
export function proveHref(): string {
  return `/login/again?next=${encodeURIComponent(here())}`
}
