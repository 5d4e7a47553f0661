import { FitAddon } from '@xterm/addon-fit'
import { Terminal } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { colourByStyle, strictDocument, strictly } from './sheets'

// The part that loads with the first terminal.

export interface TerminalHandle {
  write: (data: Uint8Array | string) => void
  focus: () => void
  fit: () => void
  size: () => { columns: number; rows: number }
  // Everything that was shown, as text.
  text: () => string
  destroy: () => void
}

export interface TerminalInput {
  label: string
  onData: (text: string) => void
  onResize: (columns: number, rows: number) => void
  // Shift+Escape: the person wants out, by keyboard.
  onLeave: () => void
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim()
}

function colours() {
  const [text, back, bad, good, warn, accent, stale, muted, border] = ['--text', '--bg', '--bad', '--good', '--warn', '--accent', '--stale', '--muted', '--border'].map(colour)
  return {
    foreground: text!, background: back!, cursor: text!, cursorAccent: back!, selectionBackground: `${accent}55`,
    black: back!, red: bad!, green: good!, yellow: warn!, blue: accent!, magenta: stale!, cyan: accent!, white: text!,
    brightBlack: muted!, brightRed: bad!, brightGreen: good!, brightYellow: warn!, brightBlue: accent!, brightMagenta: stale!, brightCyan: accent!, brightWhite: text!,
    scrollbarSliderBackground: `${border}66`, scrollbarSliderHoverBackground: border!, scrollbarSliderActiveBackground: border!,
  }
}

export function mountTerminal(host: HTMLElement, { label, onData, onResize, onLeave }: TerminalInput): TerminalHandle {
  const terminal = new Terminal({
    documentOverride: strictDocument(),
    fontFamily: colour('--font-code'),
    fontSize: 13,
    theme: colours(),
    minimumContrastRatio: 4.5,
    cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
    scrollback: 10_000,
    screenReaderMode: true,
    // Links of a program's output are a stranger's: none is followed.
    linkHandler: { activate: () => {} },
  })
  const fit = new FitAddon()
  terminal.loadAddon(fit)
  strictly(() => terminal.open(host))
  colourByStyle(terminal)
  terminal.textarea?.setAttribute('aria-label', label)
  terminal.attachCustomKeyEventHandler((event) => {
    if (event.key !== 'Escape' || !event.shiftKey) return true
    if (event.type === 'keydown') onLeave()
    return false
  })
  terminal.onData(onData)
  terminal.onResize(({ cols, rows }) => onResize(cols, rows))
  const restyle = () => {
    terminal.options.theme = colours()
  }
  const themes = new MutationObserver(restyle)
  themes.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
  const sizes = new ResizeObserver(() => host.clientWidth > 0 && fit.fit())
  sizes.observe(host)
  return {
    write: (data) => terminal.write(data),
    focus: () => terminal.focus(),
    fit: () => fit.fit(),
    size: () => ({ columns: terminal.cols, rows: terminal.rows }),
    text: () => {
      const { active } = terminal.buffer
      return Array.from({ length: active.length }, (_, i) => active.getLine(i)?.translateToString(true) ?? '').join('\n')
    },
    destroy: () => {
      themes.disconnect()
      sizes.disconnect()
      terminal.dispose()
    },
  }
}
