import { useRouter } from '@tanstack/react-router'
import { Boxes, CornerDownRight, FolderGit2, Folders, type LucideIcon, Search, Server, Zap } from 'lucide-react'
import { type KeyboardEvent, useDeferredValue, useEffect, useRef, useState } from 'react'
import { Autocomplete, Dialog, Header, Input, Menu, MenuItem, MenuSection, Modal, ModalOverlay, TextField } from 'react-aria-components'
import { activeScopes } from '../keys'
import { navigation } from '../navigation'
import { preferences } from '../preferences'
import { myViews } from '../views/views'
import { takeAhead } from './ahead'
import { type Entry, localEntries, pastedPath } from './entries'
import styles from './Palette.module.css'
import { useCall } from '#/api/call'
import { problemOf } from '#/api/errors'
import { Fleet } from '#/api/gen/hub/v1/fleet_pb'
import { Kbd } from '#/ds/Kbd'
import { StatusIcon } from '#/status/Status'

const kinds: Record<string, { title: string; icon: LucideIcon }> = {
  cluster: { title: 'Clusters', icon: Server },
  service: { title: 'Services', icon: Boxes },
  repository: { title: 'Repositories', icon: FolderGit2 },
  project: { title: 'Projects', icon: Folders },
}

// Palette goes anywhere and does anything: pages, objects by name, id or
// commit, and the actions of the page below.
export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const router = useRouter()
  const query = useDeferredValue(text.trim())
  const command = query.startsWith('>')
  const found = useCall(Fleet.method.search, { query, limit: 8 }, { enabled: query.length > 0 && !command, keep: true })
  const go = (href: string) => {
    onClose()
    router.history.push(href)
  }
  const local = localEntries(query, navigation, activeScopes(), preferences().recent, myViews())
  const groups = new Map<string, Entry[]>()
  for (const e of local) groups.set(e.group, [...(groups.get(e.group) ?? []), e])
  const pasted = pastedPath(query, location.origin)
  const results = query && !command ? (found.data?.results ?? []) : []
  const run = (key: string) => {
    const entry = local.find((e) => e.id === key)
    if (entry?.run) {
      onClose()
      // After the dialog gave the focus back.
      setTimeout(entry.run)
    } else if (entry?.to) go(entry.to)
    else if (key === 'pasted' && pasted) go(pasted)
    else {
      const result = results.find((r) => `${r.kind}/${r.id}` === key)
      if (result) go(result.href)
    }
  }
  const best = Object.keys(kinds).flatMap((kind) => results.filter((r) => r.kind === kind))[0]
  // A view's whole name is no word to search for.
  const view = local.find((e) => e.group === 'Views' && e.label.toLowerCase() === query.toLowerCase())
  const first = pasted ? 'pasted' : view ? view.id : best ? `${best.kind}/${best.id}` : local[0]?.id
  // What is shown may still be the answer of the query before: Enter waits for its own.
  const known = query === text.trim() && !found.isPlaceholderData && !(found.isFetching && !found.data)
  // The result that the arrow keys chose; without, it is the first.
  const [moved, setMoved] = useState(false)
  const menu = useRef<HTMLDivElement>(null)
  const [wanted, setWanted] = useState<string>()
  const open = (key: string) => {
    if (key !== 'first') run(key)
    else if (first !== undefined) run(first)
  }
  useEffect(() => {
    if (wanted === undefined || !known) return
    setWanted(undefined)
    open(wanted)
    // oxlint-disable-next-line react/exhaustive-deps -- open is what the results are now
  }, [wanted, known, first])
  const change = (to: string) => {
    setWanted(undefined)
    setMoved(false)
    setText(to)
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') setMoved(true)
    if (event.key !== 'Enter' || event.nativeEvent.isComposing) return
    event.preventDefault()
    event.stopPropagation()
    const chosen = moved ? menu.current?.querySelector<HTMLElement>('[data-focused]')?.dataset['key'] : undefined
    if (chosen === undefined && text.trim() === '') return
    if (moved && chosen === undefined) {
      // What was chosen is not among the results any more: nothing else is opened for it.
      setMoved(false)
      return
    }
    if (known) open(chosen ?? 'first')
    else setWanted(chosen ?? 'first')
  }
  // What was typed while this was loaded.
  const onFocus = () => {
    const ahead = takeAhead()
    if (ahead.text === '') return
    change(text + ahead.text)
    if (ahead.enter) setWanted('first')
  }
  return (
    <ModalOverlay isOpen isDismissable onOpenChange={(open) => !open && onClose()} className={styles.veil ?? ''}>
      <Modal className={styles.modal ?? ''}>
        <Dialog aria-label="Search and commands" className={styles.dialog ?? ''} data-overlay>
          <Autocomplete inputValue={text} onInputChange={change}>
            <TextField aria-label="Search" className={styles.field ?? ''} autoFocus onFocus={onFocus}>
              <Search size={16} aria-hidden />
              <Input className={styles.input ?? ''} onKeyDownCapture={onKey} placeholder="Name, commit, or > for actions" />
              <Kbd keys="Escape" />
            </TextField>
            <div className={styles.list}>
              <Menu ref={menu} aria-label="Results" className={styles.menu ?? ''} data-moved={moved || undefined} data-busy={!known || undefined} onAction={(key) => run(String(key))} renderEmptyState={() => <p className={styles.empty}>{found.isFetching ? 'Searching…' : found.error ? problemOf(found.error).message : `Nothing is called “${query}”.`}</p>}>
                {pasted && (
                  <MenuItem id="pasted" textValue={pasted} data-first className={styles.item ?? ''}>
                    <CornerDownRight size={14} aria-hidden />
                    <span className={styles.name}>{pasted}</span>
                  </MenuItem>
                )}
                {Object.entries(kinds).map(([kind, { title, icon: Icon }]) => {
                  const rows = results.filter((r) => r.kind === kind)
                  const total = Number(found.data?.totals.find((t) => t.value === kind)?.count ?? 0)
                  return rows.length === 0 ? null : (
                    <MenuSection key={kind}>
                      <Header className={styles.group ?? ''}>
                        {title}
                        {total > rows.length && ` · ${rows.length} of ${total}`}
                      </Header>
                      {rows.map((r) => (
                        <MenuItem key={r.id} id={`${r.kind}/${r.id}`} textValue={`${r.name} ${r.detail}`} data-first={first === `${r.kind}/${r.id}` || undefined} className={styles.item ?? ''}>
                          <Icon size={14} aria-hidden />
                          <span className={styles.name}>{r.name}</span>
                          <span className={styles.detail}>{r.detail}</span>
                          {r.verdict && <StatusIcon word={r.verdict} />}
                          {r.verdict && <span className={styles.detail}>{r.verdict}</span>}
                        </MenuItem>
                      ))}
                    </MenuSection>
                  )
                })}
                {[...groups].map(([group, entries]) => (
                  <MenuSection key={group}>
                    <Header className={styles.group ?? ''}>{group}</Header>
                    {entries.map((e) => (
                      <MenuItem key={e.id} id={e.id} textValue={e.label} data-first={(text !== '' && first === e.id) || undefined} className={styles.item ?? ''}>
                        {e.run ? <Zap size={14} aria-hidden /> : <CornerDownRight size={14} aria-hidden />}
                        <span className={styles.name}>{e.label}</span>
                        {e.keys && <Kbd keys={e.keys} />}
                      </MenuItem>
                    ))}
                  </MenuSection>
                ))}
              </Menu>
            </div>
            <p className={styles.foot}>c: clusters · s: services · r: repositories · p: projects · &gt; actions</p>
          </Autocomplete>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
