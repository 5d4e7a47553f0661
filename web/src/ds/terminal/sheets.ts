// xterm.js writes its measured styles into <style> elements and colours into
// style attributes; the page's policy allows neither. What it creates meanwhile
// comes from here: its rules go into adopted sheets, its attributes through the
// style object, and the rest is the document itself.

function sheetElement(): HTMLElement {
  const sheet = new CSSStyleSheet()
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
  const element = document.createElement('span')
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

function setAttribute(this: HTMLElement, name: string, value: string): void {
  if (name === 'style') this.style.cssText = value
  else Element.prototype.setAttribute.call(this, name, value)
}

const native = Document.prototype.createElement

function createElement(name: string): HTMLElement {
  if (name === 'style') return sheetElement()
  const element = native.call(document, name) as HTMLElement
  if (name === 'span') element.setAttribute = setAttribute
  return element
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
  Object.defineProperty(document, 'createElement', { configurable: true, value: (name: string) => (name === 'style' ? sheetElement() : native.call(document, name)) })
  try {
    return run()
  } finally {
    if (own) Object.defineProperty(document, 'createElement', own)
    else delete (document as { createElement?: unknown }).createElement
  }
}
