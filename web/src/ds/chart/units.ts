// Values of graphs as people read them, and the steps of an axis that have round texts.

export const units = ['none', 'bytes', 'bytes/s', 'percent', 'hundredths', 'seconds', 'per second', 'cores'] as const
export type Unit = (typeof units)[number]

const digits = (n: number) => Number(n.toPrecision(3)).toString()

function scaled(n: number, base: number, names: string[]): string {
  let i = 0
  let v = n
  while (Math.abs(v) >= base && i < names.length - 1) {
    v /= base
    i++
  }
  // 999.99 of a unit is 1 of the next one.
  if (Math.abs(Number(v.toPrecision(4))) >= base && i < names.length - 1) {
    v /= base
    i++
  }
  return Math.abs(v) >= 1000 ? `${Math.round(v)}${names[i]}` : `${digits(v)}${names[i]}`
}

function plain(n: number): string {
  const size = Math.abs(n)
  if (size !== 0 && (size < 1e-4 || size >= 1e15)) return n.toExponential(2)
  return scaled(n, 1000, ['', ' k', ' M', ' G', ' T'])
}

function seconds(n: number): string {
  const size = Math.abs(n)
  if (size === 0) return '0 s'
  if (size < 1e-3) return `${digits(n * 1e6)} µs`
  if (size < 1) return `${digits(n * 1e3)} ms`
  if (size < 120) return `${digits(n)} s`
  if (size < 7200) return `${digits(n / 60)} min`
  if (size < 48 * 3600) return `${digits(n / 3600)} h`
  return `${digits(n / 86_400)} d`
}

// valueOf is a value with its unit; percent is a fraction, hundredths are of 100. What is not there is a dash.
export function valueOf(n: number | null | undefined, unit: Unit): string {
  if (n === null || n === undefined || Number.isNaN(n)) return '–'
  if (!Number.isFinite(n)) return n > 0 ? '∞' : '−∞'
  switch (unit) {
    case 'bytes':
      return scaled(n, 1024, [' B', ' KiB', ' MiB', ' GiB', ' TiB', ' PiB'])
    case 'bytes/s':
      return `${scaled(n, 1024, [' B', ' KiB', ' MiB', ' GiB', ' TiB', ' PiB'])}/s`
    case 'percent':
      return `${digits(n * 100)} %`
    case 'hundredths':
      return `${digits(n)} %`
    case 'seconds':
      return seconds(n)
    case 'per second':
      return `${plain(n)}/s`
    case 'cores':
      return n !== 0 && Math.abs(n) < 1 ? `${digits(n * 1000)}m` : digits(n)
    default:
      return plain(n)
  }
}

const powers = (base: number, from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => base ** (from + i))

// stepsOf are the distances that two ticks of an axis may have.
export function stepsOf(unit: Unit): number[] {
  if (unit === 'bytes' || unit === 'bytes/s') return powers(2, 0, 60)
  return powers(10, -12, 18).flatMap((p) => [p, 2 * p, 5 * p])
}
