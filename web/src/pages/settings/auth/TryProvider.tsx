import { ExternalLink } from 'lucide-react'
import { useState } from 'react'
import { problemIn, type ProviderForm, valuesOf } from './form'
import styles from '../Settings.module.css'
import { unary } from '#/api/call'
import { Providers, type TryProviderResponse } from '#/api/gen/hub/v1/login_pb'
import { Button, buttonClass } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { Banner, ErrorPanel } from '#/ds/State'

// TryProvider lets a person log in at a provider as the form has it, before it is saved.
// What was tried is forgotten when the form changes.
export function TryProvider({ form }: { form: ProviderForm }) {
  const [busy, setBusy] = useState(false)
  const [tried, setTried] = useState<{ form: ProviderForm; answer?: TryProviderResponse; error?: unknown; wrong?: string }>()
  const now = tried?.form === form ? tried : undefined
  const run = async () => {
    const wrong = problemIn(form)
    if (wrong) return setTried({ form, wrong })
    setBusy(true)
    try {
      setTried({ form, answer: await unary(Providers.method.try, { provider: { ...valuesOf(form), issuer: form.issuer.trim() }, ...(form.renew ? { clientSecret: form.secret } : {}) }) })
    } catch (error) {
      setTried({ form, error })
    }
    setBusy(false)
  }
  return (
    <section aria-label="Try the login" className={`${styles.window} ${styles.stack}`}>
      <div className={styles.row}>
        <Button busy={busy} onClick={() => void run()}>
          Try the login
        </Button>
        <span className={styles.muted}>Shows your claims at the issuer and what a login would do. Nothing is saved, and nobody is logged in.</span>
      </div>
      <div role="status" className={styles.stack}>
        {now?.wrong && <Banner tone="bad">{now.wrong}</Banner>}
        {now?.answer && (
          <>
            <p>The issuer answers. It must know this callback URL:</p>
            <Command command={now.answer.callbackUrl} label="Callback URL of the trial" />
            <p>
              <a className={buttonClass('primary')} href={now.answer.url} target="_blank" rel="noopener">
                <ExternalLink size={14} aria-hidden /> Log in there, in a new tab
              </a>
            </p>
          </>
        )}
      </div>
      {now?.error !== undefined && <ErrorPanel title="It cannot be tried" error={now.error} newTab />}
    </section>
  )
}
