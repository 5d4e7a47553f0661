// Which rows are selected: some by id, or all that match the filter.
export type Selection = { all: true } | { all: false; ids: ReadonlySet<string> }

export const nobody: Selection = { all: false, ids: new Set() }

export function isSelected(s: Selection, id: string): boolean {
  return s.all || s.ids.has(id)
}

// toggle changes one row. From all, it starts over with that row alone: all
// but one is not something the hub can be asked for.
export function toggle(s: Selection, id: string): Selection {
  if (s.all) return { all: false, ids: new Set([id]) }
  const ids = new Set(s.ids)
  if (!ids.delete(id)) ids.add(id)
  return { all: false, ids }
}

export function add(s: Selection, more: Iterable<string>): Selection {
  return s.all ? s : { all: false, ids: new Set([...s.ids, ...more]) }
}

export function sizeOf(s: Selection, total: number): number {
  return s.all ? total : s.ids.size
}
