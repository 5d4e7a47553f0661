import { useState } from 'react'
import styles from '../Settings.module.css'
import { TryProvider } from './TryProvider'
import { changedIn, emptyProvider, formOf, problemIn, valuesOf } from './form'
import { unary } from '#/api/call'
import { type Provider, Providers } from '#/api/gen/hub/v1/login_pb'
import { byConsole, declares } from '#/api/manage'
import { ActionDialog } from '#/ds/ActionDialog'
import { Checkbox, TextArea, TextField } from '#/ds/Form'
import { ManagedBy } from '#/ds/ManagedBy'

interface Props {
  provider?: Provider
  onClose: () => void
  onDone: (p: Provider, made: boolean) => Promise<void>
}

export function ProviderDialog({ provider, onClose, onDone }: Props) {
  const [before] = useState(provider ? formOf(provider) : emptyProvider)
  const [form, setForm] = useState(before)
  const set = (change: Partial<typeof form>) => setForm((f) => ({ ...f, ...change }))
  const run = async (takeOver: boolean) => {
    const management = byConsole(takeOver)
    const values = valuesOf(form)
    if (provider) await onDone(await unary(Providers.method.update, { provider: values, set: changedIn(before, form), management, ...(form.renew ? { clientSecret: form.secret } : {}) }), false)
    else await onDone(await unary(Providers.method.create, { provider: { ...values, issuer: form.issuer.trim() }, clientSecret: form.secret, management }), true)
  }
  return (
    <ActionDialog title={provider ? `Edit ${provider.name}` : 'Add a login provider'} submit={provider ? 'Save' : 'Add the provider'} wide takeOver run={run} check={() => problemIn(form)} onClose={onClose}>
      {provider && declares(provider.managedBy) && <ManagedBy manager={provider.managedBy} prefix />}
      <div className={styles.two}>
        {provider ? (
          <TextField label="Issuer" value={form.issuer} onChange={() => {}} disabled hint="It cannot change: its accounts have other names. Another issuer is another provider." />
        ) : (
          <>
            <TextField label="Name" value={form.name} onChange={(name) => set({ name })} placeholder="okta" autoFocus hint="In the callback URL; it cannot change." />
            <TextField label="Issuer" value={form.issuer} onChange={(issuer) => set({ issuer })} placeholder="https://example.okta.com" hint="Must equal iss in the tokens. It cannot change." />
          </>
        )}
        <TextField label="Text on the button" value={form.title} onChange={(title) => set({ title })} placeholder="Okta" />
        <TextField label="Client id" value={form.clientId} onChange={(clientId) => set({ clientId })} autoComplete="off" />
      </div>
      {provider && <Checkbox label="Replace the client secret" hint="The stored one cannot be shown. Without this it stays." checked={form.renew} onChange={(renew) => set({ renew, secret: '' })} />}
      {form.renew && <TextField label="Client secret" type="password" autoComplete="new-password" value={form.secret} onChange={(secret) => set({ secret })} hint="Empty for a public client." />}
      <TextField label="Scopes beside openid" value={form.scopes} onChange={(scopes) => set({ scopes })} />
      <h3>Meaning of the claims</h3>
      <TextField label="Groups claim" value={form.groupsClaim} onChange={(groupsClaim) => set({ groupsClaim })} placeholder="groups, or realm_access.roles" hint="The claim that holds groups, with dots into objects. Empty: the provider gives no memberships." />
      <TextArea label="Map of groups" value={form.groups} onChange={(groups) => set({ groups })} rows={3} placeholder={'platform=platform-team\n7f1c…=auditors'} hint="VALUE OF THE CLAIM=GROUP OF THE HUB, one a line. Other values are ignored, and groups that are not in the hub give nothing." />
      <TextField label="E-mail domains" value={form.emailDomains} onChange={(emailDomains) => set({ emailDomains })} placeholder="example.com" hint="Only addresses of these domains may log in; empty allows any that the issuer knows." />
      <Checkbox label="Allow addresses that the provider has not verified" hint="Such an address names nobody here: a new user is called PROVIDER:ADDRESS, and may be somebody else than the address names." checked={form.allowUnverified} onChange={(allowUnverified) => set({ allowUnverified })} />
      <TextArea label="Certificate authority, PEM" value={form.caPem} onChange={(caPem) => set({ caPem })} rows={2} hint="Empty is the system's." />
      <TryProvider form={form} />
    </ActionDialog>
  )
}
