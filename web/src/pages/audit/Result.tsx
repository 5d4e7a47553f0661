import { Status } from '#/status/Status'

// Result is the outcome of a call: done, refused, or failed otherwise.
export function Result({ result }: { result: string }) {
  if (result === 'ok') return <Status word="Done" label="Done" title="ok" />
  const refused = result === 'forbidden' || result === 'unauthorized'
  return <Status word={refused ? 'Failed' : 'Degraded'} label={refused ? `Refused: ${result}` : result.replaceAll('_', ' ')} title={result} />
}
