import type { Session } from '#/api/gen/hub/v1/login_pb'

const ways: Record<string, string> = { password: 'by password', passkey: 'by passkey', oidc: 'by a login provider', setup: 'at the setup' }

// kindOf says how somebody logged in.
export function kindOf(s: Pick<Session, 'kind' | 'name'>): string {
  return s.kind === 'cli' ? `Command line ${s.name}`.trim() : `Browser, ${ways[s.name] ?? s.name}`
}

// browserOf shortens what a browser says about itself.
export function browserOf(agent: string): string {
  const name = /(Edg|OPR|Firefox|Chrome|Safari)\/(\d+)/.exec(/Edg\//.test(agent) ? agent.slice(agent.indexOf('Edg/')) : /OPR\//.test(agent) ? agent.slice(agent.indexOf('OPR/')) : agent)
  const system = /(Windows|Mac OS X|Android|iPhone|iPad|Linux)/.exec(agent)?.[1]?.replace('Mac OS X', 'macOS')
  if (!name) return agent.slice(0, 40)
  const called = { Edg: 'Edge', OPR: 'Opera' }[name[1]!] ?? name[1]
  return `${called} ${name[2]}${system ? ` on ${system}` : ''}`
}
