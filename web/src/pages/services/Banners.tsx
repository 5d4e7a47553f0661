import { CirclePause, Pin, Trash2 } from 'lucide-react'
import { keyOf, useCall } from '#/api/call'
import { Events, type Service, Services } from '#/api/gen/hub/v1/hub_pb'
import { Button } from '#/ds/Button'
import { Banner } from '#/ds/State'
import { person } from '#/ds/Text'
import { useHint } from '#/live/useLive'
import { Age } from '#/status/Age'

// Banners say what somebody decided about a service, and why.
export function Banners({ service: s, follows, onResume }: { service: Service; follows: string; onResume: (() => void) | undefined }) {
  const resume = onResume && <Button onClick={onResume}>Resume</Button>
  return (
    <>
      {s.deleting && (
        <Banner tone="warn" icon={Trash2}>
          <strong>Being deleted.</strong> The agent removes its objects; this page goes when it has.
        </Banner>
      )}
      {s.pinnedRevision > 0n && (
        <Banner tone="warn" icon={Pin} actions={resume}>
          <strong>Pinned to revision {String(s.pinnedRevision)} by a rollback.</strong> It does not follow {follows || 'its source'} until it is resumed. <WhyPinned service={s} />
        </Banner>
      )}
      {s.paused && (
        <Banner tone="idle" icon={CirclePause} actions={resume}>
          <strong>Paused.</strong> The agent applies, heals and prunes nothing until it is resumed. <WhyPaused service={s} />
        </Banner>
      )}
    </>
  )
}

// Why is who decided it, when, and their words.
function Why({ by, at, reason }: { by: string; at: bigint; reason: string }) {
  return (
    <>
      By {person(by)} <Age at={at} after="ago" />
      {reason ? `: ${reason.replace(/[^.!?]$/, '$&.')}` : ', without a reason.'}
    </>
  )
}

// A rollback of a service that a global service owns makes no revision.
function WhyPinned({ service: s }: { service: Service }) {
  const input = { ref: { cluster: s.cluster, name: s.name } }
  const newest = useCall(Services.method.listRevisions, input, { keep: true }).data?.revisions[0]
  useHint(['events'], keyOf(Services.method.listRevisions, input))
  return newest?.cause === 'rollback' && <Why by={newest.by} at={newest.createdAt} reason={newest.reason} />
}

function WhyPaused({ service: s }: { service: Service }) {
  const input = { cluster: s.cluster, service: s.name, limit: 100 }
  const paused = useCall(Events.method.list, input, { keep: true }).data?.events.find((e) => e.kind === 'service.paused')
  useHint(['events'], keyOf(Events.method.list, input))
  return paused && <Why by={paused.by} at={paused.at} reason={paused.message} />
}
