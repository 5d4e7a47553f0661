// The protocol v5.channel.k8s.io of exec over a WebSocket: each binary message
// begins with the number of a channel.

export const stdin = 0
export const stdout = 1
export const stderr = 2
export const failure = 3
export const resize = 4
// Since v5: closes the channel whose number follows.
export const close = 255

export const protocol = 'v5.channel.k8s.io'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export function frame(channel: number, payload: string | Uint8Array): Uint8Array {
  const bytes = typeof payload === 'string' ? encoder.encode(payload) : payload
  const out = new Uint8Array(bytes.length + 1)
  out[0] = channel
  out.set(bytes, 1)
  return out
}

export function resizeFrame(columns: number, rows: number): Uint8Array {
  return frame(resize, JSON.stringify({ Width: columns, Height: rows }))
}

export function closeFrame(channel: number): Uint8Array {
  return new Uint8Array([close, channel])
}

// Pasted text goes in pieces, because servers limit a message.
export const maxFrame = 32 * 1024

export function stdinFrames(text: string | Uint8Array): Uint8Array[] {
  const bytes = typeof text === 'string' ? encoder.encode(text) : text
  const out = []
  for (let at = 0; at < bytes.length; at += maxFrame) out.push(frame(stdin, bytes.subarray(at, at + maxFrame)))
  return out
}

export type Message = { channel: typeof stdout | typeof stderr; data: Uint8Array } | { channel: typeof failure; end: Ending } | { channel: typeof close; of: number } | undefined

// Ending is how a command ended, by what the API server says.
export interface Ending {
  ok: boolean
  // The command's exit code, where it ran at all.
  code?: number
  message: string
}

export function parse(data: ArrayBuffer | string): Message {
  const bytes = typeof data === 'string' ? encoder.encode(data) : new Uint8Array(data)
  const channel = bytes[0]
  const rest = bytes.subarray(1)
  if (channel === stdout || channel === stderr) return { channel, data: rest }
  if (channel === failure && rest.length) return { channel, end: endingOf(decoder.decode(rest)) }
  if (channel === close && rest.length) return { channel, of: rest[0]! }
  return undefined
}

interface Status {
  status?: string
  message?: string
  reason?: string
  details?: { causes?: { reason?: string; message?: string }[] }
}

export function endingOf(text: string): Ending {
  let status: Status
  try {
    status = JSON.parse(text) as Status
  } catch {
    return { ok: false, message: text }
  }
  if (status.status === 'Success') return { ok: true, code: 0, message: 'The command ended.' }
  const code = Number(status.details?.causes?.find((c) => c.reason === 'ExitCode')?.message ?? Number.NaN)
  if (!Number.isNaN(code)) return { ok: false, code, message: explain(code) ?? `The command ended with exit code ${code}.` }
  return { ok: false, message: status.message ?? 'The cluster ended the command without saying why.' }
}

function explain(code: number): string | undefined {
  switch (code) {
    case 126:
      return 'Exit code 126: the command is there, but may not be executed.'
    case 127:
      return 'Exit code 127: the container has no such command. Images without a shell, such as distroless ones, allow no session; use an ephemeral container: kubectl debug.'
    case 130:
      return 'Exit code 130: interrupted (Ctrl-C).'
    case 137:
      return 'Exit code 137: killed, often because the container ended or had no memory left.'
    case 143:
      return 'Exit code 143: terminated, because the container ended.'
    default:
      return undefined
  }
}

// execPath is the request of a session, in the form of the cluster's API server.
export function execPath(namespace: string, pod: string, container: string, command: string[]): string {
  const query = new URLSearchParams([['container', container], ...command.map((c): [string, string] => ['command', c]), ['stdin', 'true'], ['stdout', 'true'], ['stderr', 'true'], ['tty', 'true']])
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/exec?${query.toString().replaceAll('+', '%20')}`
}

// The best shell that the container has.
export const shell = ['sh', '-c', 'TERM=xterm-256color; export TERM; command -v bash >/dev/null 2>&1 && exec bash; exec sh']
