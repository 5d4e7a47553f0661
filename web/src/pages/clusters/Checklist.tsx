import styles from './AddCluster.module.css'
import { useCall } from '#/api/call'
import { Clusters, type EnrollmentStep } from '#/api/gen/hub/v1/hub_pb'
import { Command } from '#/ds/Copy'
import { SkeletonLines } from '#/ds/Skeleton'
import { ErrorPanel } from '#/ds/State'
import { Age } from '#/status/Age'
import { StatusIcon } from '#/status/Status'
import { labelOf } from '#/status/words'

const poll = 2_000

const titles: Record<string, string> = {
  token: 'Token created',
  contact: 'The agent has contacted the hub',
  registered: 'Registered',
  approved: 'Approved',
  report: 'First report',
  tunnel: 'Tunnel open',
  rights: 'The agent has the rights it needs',
}

// useEnrollment follows a new cluster until it is there.
export function useEnrollment(name: string) {
  return useCall(Clusters.method.enrollment, { name }, { enabled: name !== '', refetchInterval: (query) => (query.state.data?.done ? false : poll), keep: true })
}

// Checklist is how far the agent has come, step by step. A step that waits long
// says what may be wrong and how to look.
export function Checklist({ name }: { name: string }) {
  const { data, error, refetch } = useEnrollment(name)
  if (error && !data) return <ErrorPanel title="Can't read how far it is" error={error} retry={() => void refetch()} />
  if (!data) return <SkeletonLines lines={7} />
  return (
    <ol className={styles.steps} aria-live="polite">
      {data.steps.map((step) => (
        <Step key={step.name} step={step} />
      ))}
    </ol>
  )
}

function Step({ step }: { step: EnrollmentStep }) {
  return (
    <li className={styles.step} data-state={step.state}>
      <StatusIcon word={step.state === 'Waiting' ? 'Progressing' : step.state} size={16} />
      <div className={styles.stepText}>
        <p>
          <span className={styles.stepName}>{titles[step.name] ?? step.name}</span>
          <span className={styles.stepState}>
            {step.state === 'Done' ? <Age at={step.at} after="ago" /> : step.state === 'Waiting' ? <>waiting {step.at > 0n && <Age at={step.at} />}</> : labelOf(step.state).toLowerCase()}
          </span>
        </p>
        {step.message && <p className={styles.stepMessage}>{step.message}</p>}
        {step.checks.length > 0 && (
          <ul className={styles.checks}>
            {step.checks.map((check) => (
              <Check key={check} text={check} />
            ))}
          </ul>
        )}
      </div>
    </li>
  )
}

// Check is a likely cause, with the command that checks it after the colon.
function Check({ text }: { text: string }) {
  const command = text.match(/(?:^|: |`)((?:kubectl|curl|nslookup|date|axle|openssl)\b[^`]*)`?\.?$/)
  if (!command?.[1]) return <li>{text}</li>
  return (
    <li>
      {text.slice(0, command.index).replace(/[:`\s]+$/, '')}
      <Command command={command[1]} />
    </li>
  )
}
