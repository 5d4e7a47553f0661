// xterm.js writes its measured styles into <style> elements and colours into
// style attributes; the page's policy allows neither. Its rules go into adopted
// sheets, and its attributes through the style object.

const native = Document.prototype.createElement

function sheetElement(): HTMLElement {
  const sheet = new CSSStyleSheet()
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
  const element = native.call(document, 'span') as HTMLElement
  element.hidden = true
  Object.defineProperty(element, 'textContent', {
    get: () => '',
    set: (text: string) => {
      sheet.replaceSync(text)
    },
  })
  const { remove } = Element.prototype
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== sheet)
    remove.call(element)
  }
  return element
}

function createElement(name: string): HTMLElement {
  return name === 'style' ? sheetElement() : (native.call(document, name) as HTMLElement)
}

// strictDocument is the document as xterm.js may use it.
export function strictDocument(): Document {
  return new Proxy(document, {
    get(target, property) {
      if (property === 'createElement') return createElement
      const value: unknown = Reflect.get(target, property, target)
      return typeof value === 'function' ? (value as (...a: unknown[]) => unknown).bind(target) : value
    },
    set: (target, property, value) => Reflect.set(target, property, value, target),
  })
}

// strictly runs what asks the page's own document for style elements.
export function strictly<T>(run: () => T): T {
  const own = Object.getOwnPropertyDescriptor(document, 'createElement')
  Object.defineProperty(document, 'createElement', { configurable: true, value: createElement })
  try {
    return run()
  } finally {
    if (own) Object.defineProperty(document, 'createElement', own)
    else delete (document as { createElement?: unknown }).createElement
  }
}

// Where xterm.js 6.0.0 puts a cell's colour. It has no option for this; without
// it, colours of 24 bits and corrected contrasts are refused by the policy.
interface Inside {
  _core?: { _renderService?: { _renderer?: { value?: { _rowFactory?: { _addStyle?: (element: HTMLElement, style: string) => void } } } } }
}

/* oxlint-disable no-underscore-dangle -- xterm.js has no other way in */
// colourByStyle returns whether the place was there.
export function colourByStyle(terminal: object): boolean {
  const factory = (terminal as Inside)._core?._renderService?._renderer?.value?._rowFactory
  if (typeof factory?._addStyle !== 'function') return false
  factory._addStyle = (element, style) => {
    element.style.cssText += `${style};`
  }
  return true
}
