package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axle-cd/axle/test/procuse"
	"github.com/axle-cd/axle/test/scale"
)

const (
	// watchesEach is the number of watches of a cluster, below its 450 streams.
	watchesEach = 200
	// openers open watches at once.
	openers = 64
	// eventsTried is how many events are sent and waited for.
	eventsTried = 100
	// eventWithin bounds the wait for one.
	eventWithin = time.Minute
)

// ManyWatches is what very many open watches through one hub cost it.
type ManyWatches struct {
	Clusters int `json:"clusters"`
	Watches  int `json:"watches"`
	// Open is the time until all are open, in seconds, and OpenCPU the hub's
	// CPU for one.
	Open        float64 `json:"open_s"`
	OpenCPU     float64 `json:"open_cpu_ms"`
	RSSPerWatch float64 `json:"hub_rss_kb_per_watch"`
	RSS         float64 `json:"hub_rss_mb"`
	Cores       float64 `json:"hub_idle_cores"`
	Files       int     `json:"hub_files"`
	// EventP50 and EventP99 are from the order to a played agent to send an
	// event until the client of that one watch has it.
	EventP50 float64 `json:"event_p50_ms"`
	EventP99 float64 `json:"event_p99_ms"`
	// Lost are watches that ended meanwhile, Astray events at other clients.
	Lost   int `json:"lost"`
	Astray int `json:"astray"`
}

// manyWatches opens 200 watches on each cluster from this one process, leaves
// them alone, and then lets events happen on some.
func (f *proxyFleet) manyWatches(ctx context.Context) (err error) {
	f.Progress("%d watches on each of %d clusters", watchesEach, f.WatchesOver)
	p, err := f.play(ctx, f.Agents, f.WatchesOver, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := p.Start(); err != nil {
		return err
	}
	if err := f.awaitTunnels(ctx, p, f.WatchesOver, f.WatchesOver); err != nil {
		return err
	}
	before, err := f.settled(ctx)
	if err != nil {
		return err
	}
	m := &ManyWatches{Clusters: f.WatchesOver, Watches: f.WatchesOver * watchesEach}
	f.result.Many = m
	w := f.newWatchers(m.Watches)
	defer w.close()
	cpu, began := f.hubs.Usage(), time.Now()
	if err := w.open(ctx); err != nil {
		return err
	}
	m.Open = time.Since(began).Seconds()
	m.OpenCPU = 1000 * (f.hubs.Usage() - cpu).Seconds() / float64(m.Watches)
	f.Progress("%d watches are open", m.Watches)
	after, err := f.settled(ctx)
	if err != nil {
		return err
	}
	m.RSS, m.RSSPerWatch = float64(after)/1e6, float64(after-before)/1024/float64(m.Watches)
	m.Files = procuse.Files(f.hubs.Pid(0))
	cpu, began = f.hubs.Usage(), time.Now()
	if err := pauseFor(ctx, f.Window/2); err != nil {
		return err
	}
	m.Cores = (f.hubs.Usage() - cpu).Seconds() / time.Since(began).Seconds()
	if err := w.events(ctx, p, m); err != nil {
		return err
	}
	m.Lost = int(w.lost.Load())
	return nil
}

// watchers are the clients of the watches, in this process. They share a few
// dozen connections.
type watchers struct {
	f      *proxyFleet
	client *http.Client
	stop   context.CancelFunc
	ctx    context.Context
	group  sync.WaitGroup
	bodies []io.ReadCloser
	came   chan int // numbers of watches that got an event
	lost   atomic.Int64
}

func (f *proxyFleet) newWatchers(n int) *watchers {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(f.hubs.CA())
	w := &watchers{f: f, bodies: make([]io.ReadCloser, n), came: make(chan int, n)}
	w.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}}
	return w
}

// place is a watch's cluster, and the namespace by which its agent knows it.
func (w *watchers) place(n int) (cluster, namespace string) {
	return scale.PlayedName(w.f.Agents + n/watchesEach), fmt.Sprintf("watch-%03d", n%watchesEach)
}

// open opens all and reads them from then on.
func (w *watchers) open(ctx context.Context) error {
	w.ctx, w.stop = context.WithCancel(ctx)
	group, opening := errgroup.WithContext(ctx)
	group.SetLimit(openers)
	for n := range w.bodies {
		group.Go(func() error {
			if opening.Err() != nil {
				return opening.Err()
			}
			return w.watch(n)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for n := range w.bodies {
		w.group.Go(func() { w.read(n) })
	}
	return nil
}

func (w *watchers) watch(n int) error {
	cluster, namespace := w.place(n)
	request, err := http.NewRequestWithContext(w.ctx, http.MethodGet, fmt.Sprintf("%s/k8s/clusters/%s/api/v1/namespaces/%s/configmaps?watch=true", w.f.hubs.URL(), cluster, namespace), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+w.f.people.Token)
	response, err := w.client.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1024))
		return errors.Join(fmt.Errorf("a watch of %s: %s: %s", cluster, response.Status, text), response.Body.Close())
	}
	w.bodies[n] = response.Body
	return nil
}

// read tells of each event, and counts a watch that ends too early.
func (w *watchers) read(n int) {
	defer w.bodies[n].Close()
	// There are very many of these.
	for lines := bufio.NewReaderSize(w.bodies[n], 64); ; {
		if _, err := lines.ReadBytes('\n'); err != nil {
			if w.ctx.Err() == nil {
				w.lost.Add(1)
			}
			return
		}
		w.came <- n
	}
}

// events lets something happen on one watch after the other.
func (w *watchers) events(ctx context.Context, p *scale.Players, m *ManyWatches) error {
	var took []float64
	for i := range eventsTried {
		n := i * 7919 % len(w.bodies)
		cluster, namespace := w.place(n)
		began := time.Now()
		if err := p.Happen(cluster, namespace); err != nil {
			return err
		}
		for waiting := true; waiting; {
			select {
			case got := <-w.came:
				waiting = got != n
				if waiting {
					m.Astray++
				}
			case <-time.After(eventWithin):
				return fmt.Errorf("an event of %s in %s did not come in %v", namespace, cluster, eventWithin)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		took = append(took, float64(time.Since(began).Microseconds())/1000)
	}
	m.EventP50, m.EventP99 = percentile(took, 50), percentile(took, 99)
	return nil
}

// close ends all.
func (w *watchers) close() {
	if w.stop != nil {
		w.stop()
	}
	w.group.Wait()
	w.client.CloseIdleConnections()
}
