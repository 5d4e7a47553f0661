import type { CreateClusterResponse } from '#/api/gen/hub/v1/hub_pb'

export type Way = 'kubectl' | 'cli' | 'helm' | 'terraform'

export const ways: { value: Way; label: string }[] = [
  { value: 'kubectl', label: 'kubectl' },
  { value: 'helm', label: 'Helm' },
  { value: 'cli', label: 'axle' },
  { value: 'terraform', label: 'Terraform' },
]

// What people type as tags: KEY=VALUE, one a line or with commas.
export function parseTags(text: string): { tags: Record<string, string>; problem?: string } {
  const tags: Record<string, string> = {}
  for (const part of text.split(/[\n,]/).map((p) => p.trim()).filter(Boolean)) {
    const at = part.indexOf('=')
    if (at <= 0) return { tags, problem: `“${part}” is not KEY=VALUE` }
    tags[part.slice(0, at).trim()] = part.slice(at + 1).trim()
  }
  return { tags }
}

// A shell takes what is in single quotes as it is.
export function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

// kubectlCommand applies the manifests as the hub made them.
export function kubectlCommand(manifests: string): string {
  return `kubectl apply -f - <<'AXLE'\n${manifests.replace(/\n$/, '')}\nAXLE`
}

export function helmCommand(made: CreateClusterResponse): string {
  const lines = ['helm install axle-agent oci://ghcr.io/axle-cd/charts/axle-agent \\', '  --namespace axle-system --create-namespace \\', `  --set hubUrl=${quote(made.hubUrl)} \\`, `  --set token=${quote(made.bootstrapToken)}`]
  if (made.caPem) {
    lines[lines.length - 1] += ' \\'
    lines.push(`  --set-file caPem=/dev/stdin <<'AXLE'\n${made.caPem.trim()}\nAXLE`)
  }
  return lines.join('\n')
}

export function cliCommand(name: string, project: string, tags: Record<string, string>): string {
  const flags = [project && project !== 'default' ? `--project ${quote(project)}` : '', ...Object.entries(tags).map(([k, v]) => `--tag ${quote(`${k}=${v}`)}`)].filter(Boolean)
  return [`axle clusters connect ${quote(name)}`, ...flags].join(' ')
}

export function terraformBlock(name: string, project: string, tags: Record<string, string>): string {
  const label = name.replace(/[^A-Za-z0-9_]/g, '_')
  const lines = [`resource "axle_cluster" "${label}" {`, `  name = ${JSON.stringify(name)}`]
  if (project && project !== 'default') lines.push(`  project = ${JSON.stringify(project)}`)
  if (Object.keys(tags).length) {
    lines.push('  tags = {')
    for (const [k, v] of Object.entries(tags)) lines.push(`    ${JSON.stringify(k)} = ${JSON.stringify(v)}`)
    lines.push('  }')
  }
  return `${lines.join('\n')}\n}`
}
