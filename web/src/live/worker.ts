/// <reference lib="webworker" />
import { Host, type Port, type ToHost } from './host'
import { hubUpstream } from './upstream'

declare const self: SharedWorkerGlobalScope

const host = new Host((csrf) => hubUpstream(self.location.origin, csrf))

self.addEventListener('connect', (event) => {
  const channel = event.ports[0]
  if (!channel) return
  const port: Port = { post: (message) => channel.postMessage(message) }
  channel.addEventListener('message', (e: MessageEvent<ToHost>) => host.take(port, e.data))
  channel.start()
  host.add(port)
})
