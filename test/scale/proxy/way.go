package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axle-cd/axle/test/procuse"
)

const mebibyte = 1 << 20

// way is one way to the API server, and the processes along it.
type way struct {
	client *http.Client
	host   string
	pids   []int
	// allocated is what the processes have allocated so far, in bytes.
	allocated func(context.Context) (float64, error)
	idle      float64 // CPU per second while nothing is asked
}

const (
	// rounds is how often each thing is measured. What counts is the median: the
	// machine does other things too, and a collection of garbage falls into one
	// round rather than another.
	rounds = 7
	// warmRequests and warmBytes go each way before anything is counted: code,
	// connections, windows and caches are as they are in the midst of work.
	warmRequests = 500
	warmBytes    = 50 * mebibyte
)

// Carried is what a way costs. CPU is all that its two processes take, of user
// and kernel, less what they take idle; the client, the API server and what
// answers in a pod's place are other processes. Each number is the median of
// seven rounds, that of GETs of one client that asks again once it has its
// answer. Rates per core are for bodies of 100 MiB unless they say otherwise.
type Carried struct {
	DirectP50     float64 `json:"get_direct_p50_ms"`
	OverP50       float64 `json:"get_p50_ms"`
	GetAddedP50   float64 `json:"get_added_p50_ms"`
	GetAddedP99   float64 `json:"get_added_p99_ms"`
	CPUPerRequest float64 `json:"cpu_ms_per_request"`
	// CPULeast and CPUMost are of the rounds, and CPUAtOnce is for a GET of
	// eight clients at once.
	CPULeast     float64 `json:"cpu_ms_per_request_least"`
	CPUMost      float64 `json:"cpu_ms_per_request_most"`
	CPUAtOnce    float64 `json:"cpu_ms_per_request_of_8"`
	Down         float64 `json:"down_mb_s_per_core"`
	Up           float64 `json:"up_mb_s_per_core"`
	Down10       float64 `json:"down_10_mib_mb_s_per_core"`
	Up10         float64 `json:"up_10_mib_mb_s_per_core"`
	DownWall     float64 `json:"down_mb_s"`
	UpWall       float64 `json:"up_mb_s"`
	AllocPerByte float64 `json:"alloc_bytes_per_byte"`
	// RSSPerAgent is nil when it was not measured.
	RSSPerAgent *float64 `json:"rss_kb_per_idle_agent"`
}

// ask makes one GET and reads it.
func (w *way) ask(ctx context.Context, path string) error {
	return askOf(ctx, w.client, w.host, path)
}

func askOf(ctx context.Context, client *http.Client, host, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, host+path, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, response.Status)
	}
	return nil
}

// spent is the CPU of the processes.
func (w *way) spent() (sum time.Duration, err error) {
	for _, pid := range w.pids {
		u, err := procuse.Of(pid)
		if err != nil {
			return 0, err
		}
		sum += u.CPU
	}
	return sum, nil
}

// memory is that of the processes.
func (w *way) memory() (sum int64, err error) {
	for _, pid := range w.pids {
		u, err := procuse.Of(pid)
		if err != nil {
			return 0, err
		}
		sum += u.RSS
	}
	return sum, nil
}

// during measures the CPU of some work beyond what idling costs, in seconds.
func (w *way) during(work func() error) (cpuSeconds, wall float64, err error) {
	before, err := w.spent()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := work(); err != nil {
		return 0, 0, err
	}
	wall = time.Since(began).Seconds()
	after, err := w.spent()
	return max((after-before).Seconds()-w.idle*wall, 1e-6), wall, err
}

// carried measures a way, idle first.
func (b *proxyBench) carried(ctx context.Context, w *way) (c Carried, err error) {
	used, wall, err := w.during(func() error { return pauseFor(ctx, 10*time.Second) })
	if err != nil {
		return c, err
	}
	w.idle = used / wall
	if err := b.gets(ctx, w, &c); err != nil {
		return c, fmt.Errorf("GETs: %w", err)
	}
	if err := b.bodies(ctx, w, &c); err != nil {
		return c, fmt.Errorf("bodies: %w", err)
	}
	return c, nil
}

func pauseFor(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// gets times GETs of one small object, direct and by the way by turns.
func (b *proxyBench) gets(ctx context.Context, w *way, c *Carried) error {
	const path = "/api/v1/namespaces/default"
	for range warmRequests {
		if err := w.ask(ctx, path); err != nil {
			return err
		}
	}
	host := b.w.Cluster(proxyCluster).URL()
	var direct, over []float64
	timed := func(client *http.Client, host string) (float64, error) {
		began := time.Now()
		err := askOf(ctx, client, host, path)
		return float64(time.Since(began).Microseconds()) / 1000, err
	}
	for range b.Requests {
		d, err := timed(b.direct, host)
		if err != nil {
			return err
		}
		o, err := timed(w.client, w.host)
		if err != nil {
			return err
		}
		direct, over = append(direct, d), append(over, o)
	}
	c.DirectP50, c.OverP50 = percentile(direct, 50), percentile(over, 50)
	c.GetAddedP50 = percentile(over, 50) - percentile(direct, 50)
	c.GetAddedP99 = percentile(over, 99) - percentile(direct, 99)
	costs, err := w.costs(b.Requests, func(n int) error {
		for range n {
			if err := w.ask(ctx, path); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.CPULeast, c.CPUPerRequest, c.CPUMost = costs[0], percentile(costs, 50), costs[len(costs)-1]
	costs, err = w.costs(b.Requests, func(n int) error {
		group, ctx := errgroup.WithContext(ctx)
		for client := range atOnce {
			group.Go(func() error {
				for range (n + client) / atOnce {
					if err := w.ask(ctx, path); err != nil {
						return err
					}
				}
				return nil
			})
		}
		return group.Wait()
	})
	c.CPUAtOnce = percentile(costs, 50)
	return err
}

// atOnce is the number of clients of CPUAtOnce.
const atOnce = 8

// costs returns the CPU for one of some n things, in milliseconds, of each
// round, the least first.
func (w *way) costs(n int, do func(n int) error) ([]float64, error) {
	var costs []float64
	for range rounds {
		used, _, err := w.during(func() error { return do(n) })
		if err != nil {
			return nil, err
		}
		costs = append(costs, 1000*used/float64(n))
	}
	slices.Sort(costs)
	return costs, nil
}

func percentile(values []float64, p int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

// bodies measures 10 and 100 MiB both ways.
func (b *proxyBench) bodies(ctx context.Context, w *way, c *Carried) error {
	for _, up := range []bool{false, true} {
		if err := b.body(ctx, w, warmBytes, up); err != nil {
			return err
		}
	}
	moved := 0
	before, err := w.allocated(ctx)
	if err != nil {
		return err
	}
	for _, run := range []struct {
		size, times int
		up          bool
		rate, wall  *float64
	}{
		{10 * mebibyte, 5, false, &c.Down10, new(float64)}, {100 * mebibyte, 1, false, &c.Down, &c.DownWall},
		{10 * mebibyte, 5, true, &c.Up10, new(float64)}, {100 * mebibyte, 1, true, &c.Up, &c.UpWall},
	} {
		var rates, walls []float64
		for range rounds {
			used, wall, err := w.during(func() error {
				for range run.times {
					if err := b.body(ctx, w, run.size, run.up); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			total := float64(run.size*run.times) / 1e6
			moved += run.size * run.times
			rates, walls = append(rates, total/used), append(walls, total/wall)
		}
		*run.rate, *run.wall = percentile(rates, 50), percentile(walls, 50)
	}
	after, err := w.allocated(ctx)
	c.AllocPerByte = (after - before) / float64(moved)
	return err
}

func (b *proxyBench) body(ctx context.Context, w *way, size int, up bool) error {
	path := fmt.Sprintf(proxyPath, b.port, size)
	if !up {
		return w.ask(ctx, path)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.host+path, io.LimitReader(zeros{}, int64(size)))
	if err != nil {
		return err
	}
	request.ContentLength = int64(size)
	response, err := w.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("POST %s: %s", path, response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// allocatedByBoth is what hub and agent have allocated so far.
func (b *proxyBench) allocatedByBoth(ctx context.Context) (sum float64, err error) {
	client, err := b.w.Hub.Client()
	if err != nil {
		return 0, err
	}
	for address, client := range map[string]*http.Client{b.w.Hub.URL: client, "http://" + b.agentMetrics: http.DefaultClient} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/metrics", nil)
		if err != nil {
			return 0, err
		}
		response, err := client.Do(request)
		if err != nil {
			return 0, err
		}
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "go_memstats_alloc_bytes_total "); ok {
				n, err := strconv.ParseFloat(text, 64)
				if err != nil {
					return 0, err
				}
				sum += n
			}
		}
		response.Body.Close()
	}
	if sum == 0 {
		return 0, errors.New("no process says what it allocated")
	}
	return sum, nil
}
