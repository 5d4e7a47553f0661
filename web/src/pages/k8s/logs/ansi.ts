// Log lines are text from a stranger. They are shown as text nodes alone; what
// would steer a terminal or turn the reading direction is taken out.

// CSI, OSC with its string, DCS/APC/PM/SOS strings, and two-byte escapes. A
// string that never ends goes up to the end of the line.
// oxlint-disable-next-line no-control-regex -- escape sequences are control characters
const escapes = /(?:\u001B\[|\u009B)[0-?]*[ -/]*[@-~]?|(?:\u001B\]|\u009D)[^\u0007\u001B\u009C]*(?:\u0007|\u001B\\|\u009C|$)?|(?:\u001B[PX^_]|[\u0090\u0098\u009E\u009F])[^\u001B\u009C]*(?:\u001B\\|\u009C|$)?|\u001B[ -/]*[0-~]?/g
// oxlint-disable-next-line no-control-regex -- same
const controls = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

export function plain(text: string): string {
  // A carriage return overwrites the line, as progress bars do: the last part stays.
  const line = text.replace(/\r+$/, '')
  const at = line.lastIndexOf('\r')
  return (at < 0 ? line : line.slice(at + 1)).replaceAll(escapes, '').replaceAll(controls, '')
}
