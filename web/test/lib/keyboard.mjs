// What somebody without a mouse does. Nothing here touches an element but by keys.

/**
 * Presses keys that are one command together, such as g and s. The page asks that little time is between them, by when they were
 * pressed: none waits for what a loaded page answers to the one before.
 */
export const chord = (page, ...keys) => Promise.all(keys.map((key) => page.keyboard.press(key)));

/**
 * Presses Tab until an element has the focus; returns how often. One row of a list is a stop of Tab: from there, arrows lead to
 * a row below.
 */
export async function tabTo(page, locator, most = 200) {
  await locator.first().waitFor();
  for (let n = 0; n <= most; n++) {
    const key = await locator.first().evaluate((e) => {
      const at = document.activeElement;
      if (e === at) return '';
      const inList = e.role === 'row' && at?.role === 'row' && e.closest('[role="grid"], [role="treegrid"]').contains(at);
      return inList && Number(at.dataset.index) < Number(e.dataset.index) ? 'ArrowDown' : 'Tab';
    });
    if (!key) return n;
    await page.keyboard.press(key);
  }
  throw new Error(`${most} times Tab do not reach ${locator}`);
}

/** Goes to an element by Tab and presses Enter. */
export async function enter(page, locator) {
  await tabTo(page, locator);
  await page.keyboard.press('Enter');
}

/** Goes to a field by Tab and replaces what is in it. */
export async function type(page, locator, text) {
  await tabTo(page, locator);
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.type(text);
}

/** Searches in the palette and opens its first result. */
export async function palette(page, text, result) {
  await page.keyboard.press('ControlOrMeta+k');
  await page.keyboard.type(text);
  await page.getByRole('option', { name: result }).or(page.getByRole('menuitem', { name: result })).first().waitFor();
  await page.keyboard.press('Enter');
}
