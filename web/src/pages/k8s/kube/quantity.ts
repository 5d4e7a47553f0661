// Quantities of Kubernetes ("250m", "1Gi") as numbers, and back for people.

const units: Record<string, number> = { n: 1e-9, u: 1e-6, m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 }

export function quantity(text: string | number | undefined): number {
  const parts = /^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])?$/.exec(String(text ?? ''))
  return parts ? Number(parts[1]) * (units[parts[2] ?? ''] ?? 1) : 0
}

export function cores(n: number): string {
  return n !== 0 && Math.abs(n) < 1 ? `${Math.round(n * 1000)}m` : `${Number(n.toFixed(2))}`
}

export function bytes(n: number): string {
  for (const unit of ['Ti', 'Gi', 'Mi', 'Ki']) {
    const size = units[unit]!
    if (n >= size) return `${Number((n / size).toFixed(n / size < 10 ? 1 : 0))} ${unit}B`
  }
  return `${Math.round(n)} B`
}
