// Where a key goes from a row; undefined when it is no key for that.
export function rowAfter(key: string, row: number, total: number, perPage: number): number | undefined {
  const to = (n: number) => Math.max(0, Math.min(total - 1, n))
  switch (key) {
    case 'j':
    case 'ArrowDown':
      return to(row + 1)
    case 'k':
    case 'ArrowUp':
      return to(row - 1)
    case 'PageDown':
      return to(row + Math.max(1, perPage - 1))
    case 'PageUp':
      return to(row - Math.max(1, perPage - 1))
    case 'Home':
      return to(0)
    case 'End':
      return to(total - 1)
    default:
      return undefined
  }
}
