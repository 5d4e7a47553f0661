// On HTTP/1.1 a browser opens six connections to one origin, for all its tabs
// together. Live views hold at most three of them; who gets none asks again and
// again instead. Web Locks count over tabs; without them each tab has one.

const lanes = 3

function multiplexed(): boolean {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return navigation?.nextHopProtocol === 'h2' || navigation?.nextHopProtocol === 'h3'
}

let own = 0

// takeSlot resolves with what gives the slot back, or undefined when none is free.
export async function takeSlot(): Promise<(() => void) | undefined> {
  if (multiplexed()) return () => {}
  const { locks } = navigator
  if (!locks) {
    if (own >= 1) return undefined
    own++
    return once(() => own--)
  }
  for (let i = 0; i < lanes; i++) {
    const free = await new Promise<(() => void) | undefined>((resolve) => {
      void locks.request(`axle.live.${i}`, { ifAvailable: true }, (lock) => {
        if (!lock) {
          resolve(undefined)
          return undefined
        }
        return new Promise<void>((release) => resolve(once(release)))
      })
    })
    if (free) return free
  }
  return undefined
}

function once(run: () => void): () => void {
  let done = false
  return () => {
    if (!done) run()
    done = true
  }
}
