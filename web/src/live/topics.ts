// What somebody wants to hear about.
export interface TopicSet {
  services: string[]
  clusters: string[]
  hints: string[]
}

export const noTopics: TopicSet = { services: [], clusters: [], hints: [] }

// The hub takes this many row ids on one stream.
export const maxRows = 1_000

// mergeTopics is the union, sorted. Rows beyond the limit are left out; the
// lists that show them still get their hints.
export function mergeTopics(sets: Iterable<TopicSet>): TopicSet {
  const services = new Set<string>()
  const clusters = new Set<string>()
  const hints = new Set<string>()
  for (const set of sets) {
    for (const id of set.services) services.add(id)
    for (const id of set.clusters) clusters.add(id)
    for (const hint of set.hints) hints.add(hint)
  }
  const keptClusters = [...clusters].toSorted().slice(0, maxRows)
  return {
    clusters: keptClusters,
    services: [...services].toSorted().slice(0, maxRows - keptClusters.length),
    hints: [...hints].toSorted(),
  }
}

export function sameTopics(a: TopicSet, b: TopicSet): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

export function isEmpty(t: TopicSet): boolean {
  return t.services.length + t.clusters.length + t.hints.length === 0
}
