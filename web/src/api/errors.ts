import { Code, ConnectError } from '@connectrpc/connect'
import { ErrorDetailSchema, ManagementSchema } from './gen/hub/v1/hub_pb'

// Problem is what an error says to a person: the hub's words, verbatim.
export interface Problem {
  // The hub's code, such as "forbidden" or "not_found"; "offline" when the hub
  // could not be reached.
  code: string
  message: string
  requestId?: string | undefined
  // The person must prove again that it is them.
  prove: boolean
  // Who manages the object, when that is why.
  managedBy?: string | undefined
  // How long the hub asks to wait, in seconds.
  retryAfter?: number | undefined
}

export function problemOf(error: unknown): Problem {
  if (!(error instanceof ConnectError)) {
    return { code: 'internal', message: error instanceof Error ? error.message : String(error), prove: false }
  }
  const detail = error.findDetails(ErrorDetailSchema)[0]
  const manager = error.findDetails(ManagementSchema)[0]?.by
  const message = detail?.message || error.rawMessage
  const offline = !detail && (error.code === Code.Unknown || error.code === Code.Unavailable || error.code === Code.DeadlineExceeded) && !error.metadata.get('content-type')?.includes('json')
  const retry = Number(error.metadata.get('Retry-After'))
  return {
    code: offline ? 'offline' : detail?.code || (Code[error.code] ?? 'unknown').toLowerCase(),
    message: offline ? `The hub does not answer (${error.rawMessage}).` : message,
    requestId: error.metadata.get('Axle-Request-Id') ?? undefined,
    prove: error.code === Code.PermissionDenied && message.includes('/login/again'),
    managedBy: manager ? [manager.tool, manager.id].filter(Boolean).join(' ') : undefined,
    retryAfter: retry > 0 ? retry : undefined,
  }
}

export function isCode(error: unknown, code: Code): boolean {
  return error instanceof ConnectError && error.code === code
}

// hidden says that the person may not see what was asked for, whatever they do.
export function hidden(error: unknown): boolean {
  return isCode(error, Code.PermissionDenied) && !problemOf(error).prove
}

// lasting says whether trying again without a change is useless.
export function lasting(error: unknown): boolean {
  return error instanceof ConnectError && [Code.NotFound, Code.InvalidArgument, Code.PermissionDenied, Code.Unauthenticated, Code.FailedPrecondition, Code.Unimplemented, Code.Aborted, Code.AlreadyExists].includes(error.code)
}
