import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { HighlightStyle, bracketMatching, codeFolding, foldGutter, foldKeymap, indentUnit, syntaxHighlighting } from '@codemirror/language'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { EditorState, type Extension } from '@codemirror/state'
import { EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'

// The part that loads with the first editor. Everything lives in a shadow root:
// there CodeMirror keeps its styles in adopted sheets, which the page's policy
// allows, and in a document it would add style elements, which it does not.

const theme = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--bg)', font: 'var(--code)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { font: 'var(--code)', lineHeight: '18px', scrollbarColor: 'var(--border) transparent' },
  '.cm-content': { caretColor: 'var(--text)', padding: '8px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--muted)', borderRight: '1px solid var(--hairline)' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--raised) 55%, transparent)' },
  '.cm-activeLineGutter': { backgroundColor: 'var(--raised)', color: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'color-mix(in srgb, var(--accent) 32%, transparent)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--raised)', border: '1px solid var(--hairline)', color: 'var(--muted)', padding: '0 6px' },
  '.cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--text)', borderColor: 'var(--hairline)' },
  '.cm-panel input, .cm-panel button, .cm-panel label': { font: 'var(--dense)', color: 'var(--text)' },
  '.cm-textfield': { backgroundColor: 'var(--bg)', border: '1px solid var(--border)', borderRadius: '4px' },
  '.cm-button': { backgroundImage: 'none', backgroundColor: 'var(--surface)', border: '1px solid var(--border)', borderRadius: '4px' },
  '.cm-searchMatch': { backgroundColor: 'var(--warn-back)', outline: '1px solid var(--warn)' },
  '.cm-searchMatch-selected': { backgroundColor: 'color-mix(in srgb, var(--warn) 45%, transparent)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--raised)' },
  '.cm-specialChar': { color: 'var(--bad)' },
})

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.typeName], color: 'var(--stale)' },
  { tag: [tags.string, tags.content], color: 'var(--text)' },
  { tag: [tags.comment, tags.lineComment, tags.meta], color: 'var(--muted)' },
  { tag: [tags.punctuation, tags.separator], color: 'var(--muted)' },
])

// Above this, colours cost more than they help.
const plainAbove = 1_000_000

function common(label: string, text: string): Extension[] {
  return [
    lineNumbers(),
    highlightSpecialChars(),
    codeFolding(),
    foldGutter(),
    drawSelection(),
    search({ top: true }),
    highlightSelectionMatches(),
    bracketMatching(),
    indentUnit.of('  '),
    keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap]),
    EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', autocorrect: 'off', autocapitalize: 'off', tabindex: '0' }),
    EditorState.phrases.of({ 'Fold line': 'Fold', 'Unfold line': 'Unfold' }),
    theme,
    syntaxHighlighting(colours),
    ...(text.length <= plainAbove ? [yaml()] : []),
  ]
}

// Typing over a selection by Chromium itself keeps the colours of what was there
// in style attributes, which the page's policy refuses. CodeMirror writes it here.
const typesOver = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    if (event.inputType !== 'insertText' || event.isComposing || event.data === null || view.state.readOnly || view.state.selection.main.empty) return false
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true })
    event.preventDefault()
    return true
  },
})

const fixed: Extension[] = [EditorState.readOnly.of(true)]

export interface EditorHandle {
  text: () => string
  setText: (text: string) => void
  // Puts the cursor at a line and shows it.
  goTo: (line: number) => void
  focus: () => void
  destroy: () => void
}

export interface EditorInput {
  label: string
  text: string
  readOnly: boolean
  onChange?: ((text: string) => void) | undefined
}

// rootOf makes the shadow root of an element, once.
function rootOf(host: HTMLElement): ShadowRoot {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  root.replaceChildren()
  return root
}

function fill(root: ShadowRoot): HTMLElement {
  const parent = document.createElement('div')
  parent.style.height = '100%'
  root.append(parent)
  return parent
}

export function mountEditor(host: HTMLElement, { label, text, readOnly, onChange }: EditorInput): EditorHandle {
  const root = rootOf(host)
  const view = new EditorView({
    doc: text,
    root,
    parent: fill(root),
    extensions: [
      ...common(label, text),
      ...(readOnly ? fixed : [typesOver, history(), highlightActiveLine(), highlightActiveLineGutter()]),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onChange?.(update.state.doc.toString())
      }),
    ],
  })
  return {
    text: () => view.state.doc.toString(),
    setText: (next) => {
      const now = view.state.doc.toString()
      if (next === now) return
      // Only what differs, so that folds and the place that is read stay.
      const most = Math.min(now.length, next.length)
      let from = 0
      while (from < most && now[from] === next[from]) from++
      let end = 0
      while (end < most - from && now[now.length - 1 - end] === next[next.length - 1 - end]) end++
      view.dispatch({ changes: { from, to: now.length - end, insert: next.slice(from, next.length - end) } })
    },
    goTo: (line) => {
      const { from } = view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines))
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) })
      view.focus()
    },
    focus: () => view.focus(),
    destroy: () => {
      view.destroy()
      root.replaceChildren()
    },
  }
}
