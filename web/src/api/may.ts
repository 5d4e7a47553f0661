import { useCall } from './call'
import { Access, Bindings } from './gen/hub/v1/access_pb'
import { session } from './session'

export interface Place {
  project?: string
  cluster?: string
  service?: string
}

export interface May {
  // Undefined while the hub is asked.
  allowed: boolean | undefined
  // Which rule allows it, or what would.
  reason: string
}

// useMay asks the hub whether the person may do something at a place. The hub
// decides again when they do it.
export function useMay(action: 'read' | 'write' | 'create' | 'git', place: Place = {}, enabled = true): May {
  const { admin, name } = session()
  const { data } = useCall(Access.method.canI, { action, place }, { enabled: enabled && !admin, staleTime: 30_000 })
  if (admin) return { allowed: true, reason: `${name} is an administrator` }
  return { allowed: data?.allowed, reason: data?.reason ?? '' }
}

// useMaySomewhere is for what can be made in any of several projects.
export function useMaySomewhere(action: 'read' | 'write' | 'create' | 'git'): May {
  const { admin, name } = session()
  const { data } = useCall(Bindings.method.list, {}, { enabled: !admin, staleTime: 30_000 })
  if (admin) return { allowed: true, reason: `${name} is an administrator` }
  if (!data) return { allowed: undefined, reason: '' }
  const wanted = action === 'create' ? ['create', 'write'] : [action]
  // Whoever may do anything may read.
  const binding = data.bindings.find((b) => action === 'read' || wanted.includes(b.action))
  return binding ? { allowed: true, reason: `binding ${binding.id}` } : { allowed: false, reason: `no role binding gives it; an administrator does with: axle auth bind --user ${name} --action ${action} --project NAME` }
}
