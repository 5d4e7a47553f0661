import styles from './Stepper.module.css'
import { type Step, stepsOf } from './steps'
import type { Service } from '#/api/gen/hub/v1/hub_pb'
import { Age } from '#/status/Age'
import { StatusIcon } from '#/status/Status'
import { labelOf, toneOf } from '#/status/words'

// Stepper shows how far the desired revision is; the step that failed is open.
export function Stepper({ service }: { service: Service }) {
  const steps = stepsOf(service)
  const open = steps.find((s) => s.message && s.state !== 'Done')
  return (
    <section aria-label="Progress of the desired revision" className={styles.box}>
      <ol className={styles.steps}>
        {steps.map((step) => (
          <li key={step.name} className={styles.step} data-tone={toneOf(step.state)} data-done={step.state === 'Done' || undefined} aria-current={step === open ? 'step' : undefined}>
            <StatusIcon word={step.state} size={16} />
            <span className={styles.name}>{step.name}</span>
            <span className={styles.state}>
              {step.state !== 'Done' && labelOf(step.state)} {step.at > 0n && step.state !== 'NotYet' && <Age at={step.at} />}
            </span>
          </li>
        ))}
      </ol>
      {open && <Open step={open} />}
    </section>
  )
}

// What a step does: "Healthy: Degraded" would be two states.
const nouns: Record<Step['name'], string> = { Fetched: 'Fetch', Delivered: 'Delivery', Rendered: 'Render', Applied: 'Apply', Healthy: 'Health' }

function Open({ step }: { step: Step }) {
  return (
    <div className={styles.open} data-tone={toneOf(step.state)}>
      <strong>
        {nouns[step.name]}: {labelOf(step.state)}
      </strong>
      <pre>{step.message}</pre>
    </div>
  )
}
