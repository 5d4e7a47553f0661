// One ticker for all ages of a tab, by the hub's clock: the offset between it
// and the browser's is learned from answers that carry their time.

let offset = 0
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

// now returns the time at the hub in milliseconds since 1970.
export function now(): number {
  return Date.now() + offset
}

// learn takes the hub's time of an answer that just arrived. Small differences
// are the network's.
export function learn(hubMicros: bigint): void {
  const seen = Number(hubMicros / 1000n) - Date.now()
  if (hubMicros > 0n && Math.abs(seen - offset) > 2_000) {
    offset = seen
    tick()
  }
}

export function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(tick, 1_000)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) {
      clearInterval(timer)
      timer = undefined
    }
  }
}

function tick(): void {
  if (document.visibilityState === 'hidden') return
  for (const listener of listeners) listener()
}

if (typeof document !== 'undefined') document.addEventListener('visibilitychange', tick)
