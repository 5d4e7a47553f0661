import { type Ending, closeFrame, execPath, parse, protocol, resizeFrame, shell, stdin, stdinFrames } from './channel'
import * as channel from './channel'
import { unary } from '#/api/call'
import { ClusterAPI } from '#/api/gen/hub/v1/proxy_pb'
import { problemOf } from '#/api/errors'

export interface Target {
  cluster: string
  namespace: string
  pod: string
  container: string
}

export type SessionState = { word: 'connecting' } | { word: 'open' } | { word: 'ended'; end: Ending }

// Session is one shell in a container. A ticket opens its WebSocket, once.
export class Session {
  state: SessionState = { word: 'connecting' }
  private socket: WebSocket | undefined
  private listeners = new Set<() => void>()
  private early: Uint8Array[] = []
  private size = { columns: 80, rows: 24 }
  private end: Ending | undefined
  private stopped = false

  constructor(
    readonly target: Target,
    private onOutput: (data: Uint8Array) => void,
  ) {}

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  snapshot = (): SessionState => this.state

  private set(state: SessionState): void {
    this.state = state
    for (const listener of this.listeners) listener()
  }

  async open(): Promise<void> {
    const { cluster, namespace, pod, container } = this.target
    try {
      const { ticket, path } = await unary(ClusterAPI.method.createTicket, { cluster, path: execPath(namespace, pod, container, shell) })
      if (this.stopped) return
      const url = new URL(path, location.origin)
      url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:'
      this.connect(new WebSocket(url, [protocol, `axle.ticket.${ticket}`]))
    } catch (error) {
      this.set({ word: 'ended', end: { ok: false, message: problemOf(error).message } })
    }
  }

  private connect(socket: WebSocket): void {
    this.socket = socket
    socket.binaryType = 'arraybuffer'
    socket.addEventListener('open', () => {
      this.set({ word: 'open' })
      socket.send(resizeFrame(this.size.columns, this.size.rows) as BufferSource)
      for (const piece of this.early) socket.send(piece as BufferSource)
      this.early = []
    })
    socket.addEventListener('message', (event: MessageEvent<ArrayBuffer | string>) => {
      const message = parse(event.data)
      if (message?.channel === channel.failure) this.end = message.end
      else if (message && 'data' in message) this.onOutput(message.data)
    })
    socket.addEventListener('close', (event) => {
      const opened = this.state.word === 'open'
      this.set({ word: 'ended', end: this.end ?? { ok: false, message: closedBecause(event.code, event.reason, opened) } })
    })
  }

  send(text: string): void {
    for (const piece of stdinFrames(text)) {
      if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(piece as BufferSource)
      else if (this.state.word === 'connecting' && this.early.length < 100) this.early.push(piece)
    }
  }

  resize(columns: number, rows: number): void {
    this.size = { columns, rows }
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(resizeFrame(columns, rows) as BufferSource)
  }

  close(): void {
    this.stopped = true
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(closeFrame(stdin) as BufferSource)
    this.socket?.close(1000)
  }
}

export function closedBecause(code: number, reason: string, opened: boolean): string {
  if (reason) return `The connection ended: ${reason}`
  if (!opened) return 'The session did not begin: the hub or the cluster refused it. Your rights in the cluster need create on pods/exec; the audit log has the reason.'
  if (code === 1006) return 'The connection broke: the hub, the tunnel or the agent went away. Programs in the container may still run.'
  return code === 1000 ? 'The session was closed.' : `The connection ended with code ${code}.`
}
