// bytesText is a size with a unit: "12 MB". Units are powers of 1,000.
export function bytesText(bytes: bigint | number): string {
  let n = Number(bytes)
  for (const unit of ['B', 'kB', 'MB', 'GB', 'TB']) {
    if (n < 1_000 || unit === 'TB') return `${n < 10 && unit !== 'B' ? n.toFixed(1) : Math.round(n)} ${unit}`
    n /= 1_000
  }
  return ''
}
