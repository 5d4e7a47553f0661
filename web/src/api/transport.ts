import { Code, type Interceptor, type Transport, createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-web'
import type { DescService } from '@bufbuild/protobuf'
import { isCode } from './errors'
import { lastSeen, note } from './position'
import { loadSession, session } from './session'

const csrfHeader = 'Axle-Csrf'
const seenHeader = 'Axle-Seen'
const positionHeader = 'Axle-Position'

// carry adds what every call needs, keeps the answer's position, and begins a
// new login when the session has ended.
const carry: Interceptor = (next) => async (request) => {
  request.header.set(csrfHeader, session().csrf)
  const seen = lastSeen()
  if (seen) request.header.set(seenHeader, seen)
  try {
    const response = await next(request)
    note(response.header.get(positionHeader))
    return response
  } catch (error) {
    // Only the session itself tells that it has ended; a call that says so while
    // it has not would send the browser to the login page and back for ever.
    if (isCode(error, Code.Unauthenticated)) await loadSession()
    throw error
  }
}

// renew repeats a call once with a new token: the same person logged in again in
// another tab. If it was somebody else, loadSession never returns.
const renew: Interceptor = (next) => async (request) => {
  try {
    return await next(request)
  } catch (error) {
    if (request.stream || !isCode(error, Code.PermissionDenied) || !(error as Error).message.includes(csrfHeader)) throw error
    await loadSession()
    return next(request)
  }
}

export const transport: Transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: import.meta.env.PROD,
  interceptors: [renew, carry],
})

// clientOf is for streams; pages use useCall and useAction.
export function clientOf<S extends DescService>(service: S) {
  return createClient(service, transport)
}
