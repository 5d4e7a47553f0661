// Pictures of the interesting moments, for people: set SHOTS to a folder.
import { join } from 'node:path';

export async function shot(page, name) {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
}
