import { Rocket } from 'lucide-react'
import { Suspense, lazy, useState } from 'react'
import { useMaySomewhere } from '#/api/may'
import { useKeys } from '#/app/useKeys'
import { Button } from '#/ds/Button'

const CreateService = lazy(() => import('./CreateService').then((m) => ({ default: m.CreateService })))

interface Props {
  // What is known of the service already.
  cluster?: string
  repository?: string
  // It is the main action of its page and has the key n.
  main?: boolean
}

// DeployButton opens the form of a new service, for who may make one.
export function DeployButton({ main, ...known }: Props) {
  const [open, setOpen] = useState(false)
  const may = useMaySomewhere('write')
  useKeys('Services', [{ keys: 'n', does: 'deploy a service', run: () => setOpen(true) }], main === true && may.allowed === true)
  if (!may.allowed) return null
  return (
    <>
      <Button icon={Rocket} variant={main ? 'primary' : 'plain'} keys={main ? 'n' : undefined} onClick={() => setOpen(true)}>
        Deploy a service
      </Button>
      <Suspense fallback={null}>{open && <CreateService {...known} onClose={() => setOpen(false)} />}</Suspense>
    </>
  )
}
