import type { JsonObject } from '@bufbuild/protobuf'
import { type TopicSet, isEmpty, noTopics, sameTopics } from './topics'

export type Phase =
  // Nobody wants anything, or every tab is hidden.
  | 'idle'
  | 'connecting'
  | 'live'
  // The stream broke or is silent; it is tried again.
  | 'reconnecting'
  // A proxy holds the stream back: lists are read again every 15 s.
  | 'polling'

export interface Connection {
  phase: Phase
  // When the hub was last heard, in milliseconds; 0 is never.
  heardAt: number
}

// A row as JSON; only its id matters here.
export type RawService = JsonObject & { id: string }
export type RawCluster = JsonObject & { cluster: { id: string } }

export interface Batch {
  streamId: string
  resumeToken: string
  at: bigint
  services: RawService[]
  clusters: RawCluster[]
  gone: string[]
  hints: string[]
}

// Upstream is the hub, as the machine needs it.
export interface Upstream {
  watch(topics: TopicSet, resumeToken: string, signal: AbortSignal): AsyncIterable<Batch>
  setTopics(streamId: string, topics: TopicSet, signal: AbortSignal): Promise<void>
  // What an error means: the resume token is too old, the stream is unknown to
  // this replica, nobody is logged in, or the person may see nothing of this.
  kindOf(error: unknown): 'too-old' | 'no-stream' | 'signed-out' | 'forbidden' | 'other'
}

export interface Listener {
  connection(c: Connection): void
  // What was missed is unknown: everything on the screen is read again.
  relist(): void
  batch(b: Batch): void
}

export const limits = { silence: 35_000, firstBeat: 5_000, poll: 15_000, backoffMin: 500, backoffMax: 15_000, retryStream: 60_000 }

// Machine keeps one stream open while somebody wants it.
export class Machine {
  private topics: TopicSet = noTopics
  private awake = true
  private phase: Phase = 'idle'
  private heardAt = 0
  private attempt = 0
  private token = ''
  private stream = ''
  private run: AbortController | undefined
  private timer: ReturnType<typeof setTimeout> | undefined
  private pollTimer: ReturnType<typeof setInterval> | undefined

  constructor(
    private readonly upstream: Upstream,
    private readonly listener: Listener,
    private readonly random: () => number = Math.random,
  ) {}

  get connection(): Connection {
    return { phase: this.phase, heardAt: this.heardAt }
  }

  // want replaces what is wanted.
  want(topics: TopicSet): void {
    if (sameTopics(topics, this.topics)) return
    this.topics = topics
    if (isEmpty(topics)) return this.rest()
    if (!this.awake) return
    if (!this.run) return this.open()
    if (this.stream) void this.send(this.run.signal)
  }

  // sleep and wake: the tabs are hidden, or one is visible again.
  sleep(): void {
    this.awake = false
    this.rest()
  }

  wake(): void {
    if (this.awake && this.run && (this.phase === 'live' || this.phase === 'connecting')) return
    const slept = !this.awake
    this.awake = true
    if (isEmpty(this.topics)) return
    if (slept || this.phase === 'reconnecting') {
      this.attempt = 0
      this.open()
    }
  }

  // renew opens the stream that ended because nobody was logged in.
  renew(): void {
    if (this.awake && !this.run && !isEmpty(this.topics)) this.open()
  }

  private rest(): void {
    this.stop()
    this.clearPoll()
    this.enter('idle')
  }

  private stop(): void {
    clearTimeout(this.timer)
    this.run?.abort()
    this.run = undefined
    this.stream = ''
  }

  private enter(phase: Phase): void {
    if (phase === this.phase && phase !== 'live') return
    this.phase = phase
    this.listener.connection(this.connection)
  }

  private open(): void {
    this.stop()
    const run = new AbortController()
    this.run = run
    if (this.phase !== 'reconnecting' && this.phase !== 'polling') this.enter('connecting')
    // Nothing within 5 s of opening: something between holds the stream back.
    this.timer = setTimeout(() => this.poll(), limits.firstBeat)
    void this.follow(run.signal)
  }

  private async follow(signal: AbortSignal): Promise<void> {
    const opened = this.topics
    try {
      for await (const batch of this.upstream.watch(opened, this.token, signal)) {
        if (signal.aborted) return
        const first = this.stream === ''
        this.stream = batch.streamId
        this.token = batch.resumeToken || this.token
        this.heard()
        if (first && !sameTopics(opened, this.topics)) void this.send(signal)
        this.listener.batch(batch)
      }
      this.again(signal)
    } catch (error) {
      if (signal.aborted) return
      const kind = this.upstream.kindOf(error)
      // The hub is heard, and there is nothing to follow until other topics are wanted.
      if (kind === 'forbidden') this.heardAt = Date.now()
      if (kind === 'signed-out' || kind === 'forbidden') return this.rest()
      if (kind === 'too-old') {
        this.token = ''
        this.listener.relist()
      }
      this.again(signal)
    }
  }

  private heard(): void {
    clearTimeout(this.timer)
    this.attempt = 0
    this.heardAt = Date.now()
    this.clearPoll()
    this.enter('live')
    this.timer = setTimeout(() => this.silent(), limits.silence)
  }

  private silent(): void {
    this.enter('reconnecting')
    this.open()
  }

  // again waits and opens the stream again: full jitter, doubling up to 15 s.
  private again(signal: AbortSignal): void {
    if (signal.aborted) return
    this.stop()
    if (this.phase !== 'polling') this.enter('reconnecting')
    const most = Math.min(limits.backoffMax, limits.backoffMin * 2 ** (this.attempt + 1))
    this.attempt++
    this.timer = setTimeout(() => this.open(), Math.max(limits.backoffMin, this.random() * most))
  }

  // poll reads lists again at an interval, and tries the stream now and then.
  private poll(): void {
    this.stop()
    this.enter('polling')
    this.pollTimer ??= setInterval(() => this.listener.relist(), limits.poll)
    this.timer = setTimeout(() => this.open(), limits.retryStream)
  }

  private clearPoll(): void {
    clearInterval(this.pollTimer)
    this.pollTimer = undefined
  }

  private async send(signal: AbortSignal): Promise<void> {
    try {
      await this.upstream.setTopics(this.stream, this.topics, signal)
    } catch {
      // Another replica answered, or the stream is gone: open it with the topics.
      if (!signal.aborted) this.open()
    }
  }
}
