// fromOf says where a service comes from: a repository and what of it, or the hub, which makes some itself.
export function fromOf(s: { repository: string; ref: string; chart: string; version?: string } | undefined): { name: string; at: string } {
  return { name: s?.repository || 'the hub', at: s?.repository ? s.ref || s.version || s.chart : '' }
}
