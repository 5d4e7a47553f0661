import { lasting, problemOf } from '#/api/errors'
import { ClusterAPI } from '#/api/gen/hub/v1/proxy_pb'
import { clientOf } from '#/api/transport'
import type { KubeObject } from '../kube/object'
import { type ContainerStatus, containerStatuses, endOf } from '../object/state'
import { type Line, parseLine } from './line'

// What an API server says for a container without a log. It is no mistake: the pod's status says why.
const noLogYet = /is waiting to start|is not available|previous terminated container .* not found/

// So many containers are shown, and so many pods asked about.
export const maxShown = 3

// A pod that may have containers which fail.
export interface Suspect {
  object: KubeObject
  // It is not ready although its containers run.
  degraded: boolean
}

export interface Failing {
  container: string
  // The run that failed is over, and another one waits or has begun.
  previous: boolean
  restarts: number
  // How the run ended, or that it is not ready.
  why: string
  // When the run ended; empty for one that goes on.
  endedAt: string
}

// failingContainers are those of a pod that ended badly, or run without being ready. One that never
// ran has no lines.
export function failingContainers(pod: KubeObject, degraded: boolean): Failing[] {
  return containerStatuses(pod).flatMap((c): Failing[] => {
    const here = { container: c.name, restarts: c.restartCount ?? 0 }
    if (bad(c.state)) return [{ ...here, previous: false, why: `ended: ${endOf(c.state)}`, endedAt: c.state?.['terminated']?.finishedAt ?? '' }]
    // It restarts again and again: what there is to read is what it wrote before it ended.
    if (bad(c.lastState) && !c.ready) return [{ ...here, previous: true, why: `previous run: ${endOf(c.lastState)}`, endedAt: c.lastState?.['terminated']?.finishedAt ?? '' }]
    if (degraded && c.state?.['running'] && !c.ready) return [{ ...here, previous: false, why: 'running, not ready', endedAt: '' }]
    return []
  })
}

// speakers are the pods that have failing containers, one of each owner: the first stands for its siblings.
export function speakers(pods: readonly Suspect[]): Suspect[] {
  const owners = new Set<string>()
  return pods.filter(({ object, degraded }) => {
    const owner = object.metadata.ownerReferences?.[0]?.uid ?? object.metadata.uid ?? ''
    if (owners.has(owner) || failingContainers(object, degraded).length === 0) return false
    owners.add(owner)
    return true
  })
}

function bad(state: ContainerStatus['state']): boolean {
  const ended = state?.['terminated']
  return ended !== undefined && ended.exitCode !== 0
}

// The most that is read of a log at once, and what is shown of a line.
const maxBytes = 65_536
const maxText = 1_000
// A line of megabytes hides those after it: then fewer lines are asked for.
const tails = [20, 5, 1]

export interface LastLines {
  lines: Line[]
  // The lines before these are too long to be read here.
  cut: boolean
}

interface Log {
  cluster: string
  namespace: string
  pod: string
  container: string
  previous: boolean
}
type Read = (request: Log & { tailLines: bigint }, signal: AbortSignal) => AsyncIterable<{ lines: string }>
const fromCluster: Read = (request, signal) => clientOf(ClusterAPI).readLogs(request, { signal })

// readLastLines reads the end of a log with the caller's own rights. Nothing is kept anywhere.
export async function readLastLines(of: Log, signal: AbortSignal, read = fromCluster): Promise<LastLines> {
  for (const tailLines of tails) {
    const { text, cut } = await beginning((stop) => read({ ...of, tailLines: BigInt(tailLines) }, stop), signal)
    if (cut && tailLines > 1) continue
    const lines = text.split('\n').filter((line) => line !== '')
    return { lines: lines.slice(-tailLines).map((line, i) => shorten(parseLine(line, 0, i))), cut: cut || tailLines < tails[0]! }
  }
  return { lines: [], cut: false }
}

function shorten(line: Line): Line {
  return line.text.length > maxText ? { ...line, text: `${line.text.slice(0, maxText)} …` } : line
}

// beginning reads an answer up to a limit, and then ends the call.
async function beginning(answer: (signal: AbortSignal) => AsyncIterable<{ lines: string }>, signal: AbortSignal): Promise<{ text: string; cut: boolean }> {
  const stop = new AbortController()
  let text = ''
  try {
    for await (const { lines } of answer(AbortSignal.any([signal, stop.signal]))) {
      text += lines
      if (text.length > maxBytes) return { text: text.slice(0, maxBytes), cut: true }
    }
  } finally {
    stop.abort()
  }
  return { text, cut: false }
}

// problemOfLog is what to say about a log that cannot be read; nothing for one that is not there yet.
export function problemOfLog(error: unknown): string {
  const { message } = problemOf(error)
  return noLogYet.test(message) ? '' : message
}

// again says whether reading once more may help.
export function again(failures: number, error: Error): boolean {
  return failures < 2 && !lasting(error) && problemOfLog(error) !== ''
}
