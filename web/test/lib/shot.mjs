// Pictures of the interesting moments, for people: set SHOTS to a folder.
import { join } from 'node:path';

export async function shot(page, name) {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
}

/** Pictures of a page in both looks, wide and narrow. */
export async function looks(page, name) {
  if (!process.env.SHOTS) return;
  const had = page.viewportSize();
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme });
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
      await page.waitForTimeout(300); // a graph is drawn anew
      await shot(page, `${name}-${colorScheme}-${width}`);
    }
  }
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize(had);
}
