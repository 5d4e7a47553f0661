// What it costs the page to show something: the time until it is painted, and what its main
// thread computed meanwhile, which other work on the machine does not lengthen.

/** Before a page loads: notes when a canvas was last stroked, and when the frame with it was painted. */
export function watchStrokes() {
  window.strokes = 0;
  window.painted = 0;
  window.stroked = 0;
  const { stroke } = CanvasRenderingContext2D.prototype;
  let asked = false;
  // The task after a frame begins when the frame is done.
  const painted = new MessageChannel();
  painted.port1.addEventListener('message', () => {
    asked = false;
    window.painted = performance.now();
  });
  painted.port1.start();
  CanvasRenderingContext2D.prototype.stroke = function (...args) {
    window.strokes++;
    window.stroked = performance.now();
    if (!asked) {
      asked = true;
      requestAnimationFrame(() => painted.port2.postMessage(0));
    }
    return stroke.apply(this, args);
  };
}

/** Waits until so many strokes were made and painted, and none came for a while; returns when the last was painted. */
export const lastPainted = (page, strokes) =>
  page.evaluate(async (least) => {
    const began = performance.now();
    for (;;) {
      await new Promise((done) => setTimeout(done, 100));
      if (window.strokes >= least && window.painted >= window.stroked && performance.now() - window.stroked > 600) return window.painted;
      if (performance.now() - began > 60_000) throw new Error(`${window.strokes} strokes of ${least} in a minute`);
    }
  }, strokes);

/** Counts what the main thread of a page computes, in milliseconds of its processor. */
export async function processorOf(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => {
    const { metrics } = await cdp.send('Performance.getMetrics');
    const seconds = Object.fromEntries(metrics.map((m) => [m.name, m.value]));
    return { all: seconds.TaskDuration * 1000, script: seconds.ScriptDuration * 1000 };
  };
}

/**
 * Notes how long each task of a page's main thread is, by the clock and by its processor: on a loaded
 * machine a task waits for a processor, which is not the page's work.
 */
export async function traceTasks(page) {
  const cdp = await page.context().newCDPSession(page);
  const events = [];
  cdp.on('Tracing.dataCollected', ({ value }) => events.push(...value));
  await cdp.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: ['toplevel', 'devtools.timeline', 'blink.user_timing'] } });
  const mark = `traced ${Math.random()}`;
  await page.evaluate((name) => performance.mark(name), mark);
  return async () => {
    const complete = new Promise((done) => cdp.once('Tracing.tracingComplete', done));
    await cdp.send('Tracing.end');
    await complete;
    const own = events.find((e) => e.name === mark);
    if (!own) throw new Error('the trace has not the page in it');
    const tasks = events.filter((e) => e.pid === own.pid && e.tid === own.tid && e.ph === 'X' && /RunTask/.test(e.name));
    if (tasks.every((t) => t.tdur === undefined)) throw new Error(`the trace has no tasks with their processor time: ${[...new Set(events.map((e) => e.name))].slice(0, 40)}`);
    await cdp.detach();
    return tasks.map((t) => ({ wall: t.dur / 1000, cpu: (t.tdur ?? 0) / 1000 }));
  };
}
