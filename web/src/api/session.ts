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
// login page, and the promise stays open.
export async function loadSession(signal?: AbortSignal): Promise<Session> {
  const response = await fetch('/login/session', { headers: { Accept: 'application/json' }, signal: signal ?? null })
  if (response.status === 401) return logIn()
  if (!response.ok) throw new Error(`GET /login/session answered ${response.status}: ${(await response.text()).slice(0, 500)}`)
  current = (await response.json()) as Session
  return current
}

// here is where to return to after a login: a path of this origin.
export function here(): string {
  return location.pathname + location.search + location.hash
}

let leaving = false

export function logIn(): Promise<never> {
  if (!leaving) {
    leaving = true
    location.assign(`/login?next=${encodeURIComponent(here())}`)
  }
  return new Promise(() => {})
}

// proveHref is where a person proves again that it is them.
export function proveHref(): string {
  return `/login/again?next=${encodeURIComponent(here())}`
}
