// Keys typed before the palette is there: its code is loaded when it is asked for
// first, and who knows the key does not wait for it.

export interface Ahead {
  text: string
  enter: boolean
}

let end: (() => Ahead) | undefined

// typeAhead keeps what is typed from now on, until takeAhead; Escape gives up.
export function typeAhead(onEscape: () => void): void {
  end?.()
  const kept: Ahead = { text: '', enter: false }
  const onKey = (event: KeyboardEvent) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === 'Escape') {
      takeAhead()
      onEscape()
    } else if (event.key === 'Enter') kept.enter = true
    else if (event.key === 'Backspace') kept.text = kept.text.slice(0, -1)
    else if (event.key.length === 1) kept.text += event.key
    else return
    if (event.key !== 'Enter') kept.enter = false
    event.preventDefault()
    event.stopImmediatePropagation()
  }
  window.addEventListener('keydown', onKey, true)
  end = () => {
    window.removeEventListener('keydown', onKey, true)
    return kept
  }
}

// takeAhead ends it and returns what was typed.
export function takeAhead(): Ahead {
  const kept = end?.() ?? { text: '', enter: false }
  end = undefined
  return kept
}
