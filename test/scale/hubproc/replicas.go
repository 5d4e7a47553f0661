package hubproc

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/axle-cd/axle/internal/child"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/pg"
	"github.com/axle-cd/axle/test/port"
	"github.com/axle-cd/axle/test/procuse"
)

// Replicas are those of one hub, as processes, with their database.
type Replicas struct {
	program  string
	dir      string
	flags    []string
	database *pg.Server
	url      string // of the database; empty is SQLite
	ca       []byte
	replicas []*replica
	web      *http.Client
	stop     context.CancelFunc
	sampled  sync.WaitGroup

	mu     sync.Mutex
	peak   int64        // since Forget
	memory []MemoryTime // since Forget, one a second
	forgot time.Time
}

// MemoryTime is what all replicas and their children hold at a time.
type MemoryTime struct {
	Seconds float64 `json:"s"`
	MB      float64 `json:"mb"`
}

// replica is one hub process.
type replica struct {
	name, dir, address, metrics string
	command                     *exec.Cmd
	ended                       chan struct{}
	killed                      atomic.Bool
	last                        procuse.Usage // as long as it ran
}

// Config says what Start starts.
type Config struct {
	// Dir keeps data and logs, Program is axle-hub. Both are needed.
	Dir, Program string
	// Replicas is how many; zero is 1. One alone is on SQLite unless Postgres is
	// set, several share a Postgres.
	Replicas int
	Postgres bool
	// Flags are more flags of each.
	Flags []string
}

// Start starts the replicas and returns once each is ready.
func Start(ctx context.Context, c Config) (_ *Replicas, err error) {
	h := &Replicas{program: c.Program, dir: c.Dir, flags: c.Flags, forgot: time.Now()}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if c.Replicas > 1 || c.Postgres {
		if h.database, err = pg.Start(ctx); err != nil {
			return nil, err
		}
		if h.url, _, err = h.database.Clone(ctx); err != nil {
			return nil, err
		}
	}
	for n := range max(1, c.Replicas) {
		if err := h.add(ctx, n); err != nil {
			return nil, err
		}
	}
	sampling, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	h.sampled.Go(func() { h.sample(sampling) })
	return h, nil
}

// add starts one more replica. All share the first one's authority and key.
func (h *Replicas) add(ctx context.Context, n int) (err error) {
	r := &replica{name: fmt.Sprintf("hub-%d", n), ended: make(chan struct{})}
	r.dir = filepath.Join(h.dir, r.name)
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	if n > 0 {
		for _, name := range []string{"ca.pem", "ca-key.pem", "hub.key"} {
			if err := copyFile(filepath.Join(h.replicas[0].dir, name), filepath.Join(r.dir, name)); err != nil {
				return err
			}
		}
	}
	if r.address, err = port.Address(); err != nil {
		return err
	}
	if r.metrics, err = port.Address(); err != nil {
		return err
	}
	args := append([]string{
		"serve", "--listen", r.address, "--data-dir", r.dir, "--replica", r.name, "--dev-ca", "--metrics-listen", r.metrics,
		"--allow-upstream-cidrs", "127.0.0.0/8", "--allow-http-upstreams", "--log-level", "warn",
	}, h.flags...)
	r.command = exec.Command(h.program, args...)
	r.command.Env = os.Environ()
	if h.url != "" {
		r.command.Args = append(r.command.Args, "--advertise-url", "https://"+r.address)
		r.command.Env = append(r.command.Env, "AXLE_HUB_DATABASE_URL="+h.url,
			// Replicas call each other and trust whom the first one vouches for.
			"SSL_CERT_FILE="+filepath.Join(h.dir, "hub-0", "ca.pem"))
	}
	log, err := os.Create(filepath.Join(h.dir, r.name+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	r.command.Stdout, r.command.Stderr = log, log
	if err := child.Start(r.command); err != nil {
		return err
	}
	go func() {
		_ = r.command.Wait() // whether it should have ended, others judge
		close(r.ended)
	}()
	h.replicas = append(h.replicas, r)
	return h.ready(ctx, r, log.Name())
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// ready waits until a replica answers.
func (h *Replicas) ready(ctx context.Context, r *replica, log string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := eventually.Wait(ctx, time.Minute, func() error {
		select {
		case <-r.ended:
			cancel(errors.New("it ended"))
		default:
		}
		if h.web == nil {
			ca, err := os.ReadFile(filepath.Join(r.dir, "ca.pem"))
			if err != nil {
				return err
			}
			pool := x509.NewCertPool()
			pool.AppendCertsFromPEM(ca)
			h.ca = ca
			h.web = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
		}
		return get(ctx, h.web, "https://"+r.address+"/readyz", nil)
	})
	if err != nil {
		text, _ := os.ReadFile(log)
		return fmt.Errorf("%s is not ready: %w; end of its log:\n%s", r.name, err, text[max(0, len(text)-2048):])
	}
	return nil
}

func get(ctx context.Context, client *http.Client, url string, body *bytes.Buffer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, answer.Status)
	}
	if body != nil {
		_, err = body.ReadFrom(answer.Body)
	}
	return err
}

// URL is the first replica's.
func (h *Replicas) URL() string { return "https://" + h.replicas[0].address }

// CA is the authority that signed the certificates of all, in PEM.
func (h *Replicas) CA() []byte { return h.ca }

// Web is a client that trusts CA.
func (h *Replicas) Web() *http.Client { return h.web }

// SetupTokenFile holds the token for the hub's first administrator.
func (h *Replicas) SetupTokenFile() string { return filepath.Join(h.replicas[0].dir, "setup-token") }

// Name is a replica's, by its number from 0.
func (h *Replicas) Name(n int) string { return h.replicas[n].name }

// Pid is the process of a replica.
func (h *Replicas) Pid(n int) int { return h.replicas[n].command.Process.Pid }

// Collect makes a replica collect its garbage now.
func (h *Replicas) Collect(ctx context.Context, n int) error {
	return get(ctx, http.DefaultClient, "http://"+h.replicas[n].metrics+"/debug/pprof/heap?gc=1", nil)
}

// Addresses are where the replicas listen, as host and port.
func (h *Replicas) Addresses() (list []string) {
	for _, r := range h.replicas {
		list = append(list, r.address)
	}
	return list
}

// sample keeps the peak of the memory, and the last of each replica.
func (h *Replicas) sample(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		h.Usage()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Usage returns what all replicas and their children took and take.
func (h *Replicas) Usage() (cpu time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var memory int64
	for _, r := range h.replicas {
		select {
		case <-r.ended:
		default:
			if u, err := procuse.Of(r.command.Process.Pid); err == nil && u.CPU >= r.last.CPU {
				r.last = u
				memory += u.RSS + u.Children
			}
		}
		cpu += r.last.CPU
	}
	h.peak = max(h.peak, memory)
	at := time.Since(h.forgot).Seconds()
	if n := len(h.memory); n == 0 || at-h.memory[n-1].Seconds >= 0.9 {
		h.memory = append(h.memory, MemoryTime{at, float64(memory) / 1e6})
	}
	return cpu
}

// Held is the median of the memory in the last so long, in MB.
func (h *Replicas) Held(last time.Duration) float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	from := time.Since(h.forgot) - last
	var list []float64
	for _, one := range h.memory {
		if one.Seconds >= from.Seconds() {
			list = append(list, one.MB)
		}
	}
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// Files is the number of open files of the replica that has most.
func (h *Replicas) Files() (most int) {
	for _, r := range h.replicas {
		most = max(most, procuse.Files(r.command.Process.Pid))
	}
	return most
}

// MemoryTimes are the largest of each 10 s since Forget.
func (h *Replicas) MemoryTimes() (list []MemoryTime) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.memory {
		at := float64(int(one.Seconds)/10*10) + 10
		if n := len(list); n > 0 && list[n-1].Seconds == at {
			list[n-1].MB = max(list[n-1].MB, one.MB)
			continue
		}
		list = append(list, MemoryTime{at, one.MB})
	}
	return list
}

// Peak is the largest memory since Forget, in MB.
func (h *Replicas) Peak() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return float64(h.peak) / 1e6
}

// Forget begins a new peak and returns the last in MB.
func (h *Replicas) Forget() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.peak
	h.peak, h.memory, h.forgot = 0, nil, time.Now()
	return float64(last) / 1e6
}

// DatabaseURL is that of the Postgres, empty on SQLite.
func (h *Replicas) DatabaseURL() string { return h.url }

// DatabaseCPU is that of the database's processes, those that ended too.
func (h *Replicas) DatabaseCPU() time.Duration {
	if h.database == nil {
		return 0
	}
	u, err := procuse.Of(h.database.Pid())
	if err != nil {
		return 0
	}
	return u.CPU
}

// Metrics returns the sum over the replicas of each series, by its name with
// labels. Replicas that were killed are left out.
func (h *Replicas) Metrics(ctx context.Context) (map[string]float64, error) {
	texts, err := h.Served(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]float64{}
	for _, text := range texts {
		for line := range bytes.Lines(text) {
			line = bytes.TrimSpace(line)
			at := bytes.LastIndexByte(line, ' ')
			if at < 0 || line[0] == '#' {
				continue
			}
			if n, err := strconv.ParseFloat(string(line[at+1:]), 64); err == nil {
				all[string(line[:at])] += n
			}
		}
	}
	return all, nil
}

// Served returns the metrics of each replica as it serves them, by its name. Replicas
// that were killed are left out.
func (h *Replicas) Served(ctx context.Context) (map[string][]byte, error) {
	texts := map[string][]byte{}
	for _, r := range h.replicas {
		if r.killed.Load() {
			continue
		}
		var body bytes.Buffer
		if err := get(ctx, http.DefaultClient, "http://"+r.metrics+"/metrics", &body); err != nil {
			return nil, err
		}
		texts[r.name] = body.Bytes()
	}
	return texts, nil
}

// Kill ends a replica as a crash would.
func (h *Replicas) Kill(n int) error {
	h.Usage()
	r := h.replicas[n]
	r.killed.Store(true)
	if err := child.Signal(r.command, syscall.SIGKILL); err != nil {
		return err
	}
	<-r.ended
	return nil
}

// Again starts a killed replica anew, as it was started before.
func (h *Replicas) Again(ctx context.Context, n int) error {
	r := h.replicas[n]
	command := exec.Command(r.command.Path, r.command.Args[1:]...)
	command.Env = r.command.Env
	log, err := os.OpenFile(filepath.Join(h.dir, r.name+".log"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	command.Stdout, command.Stderr = log, log
	if err := child.Start(command); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = command.Wait()
		close(ended)
	}()
	h.mu.Lock()
	r.command, r.ended, r.last = command, ended, procuse.Usage{}
	r.killed.Store(false)
	h.mu.Unlock()
	return h.ready(ctx, r, log.Name())
}

// Alive fails when a replica ended that nobody killed.
func (h *Replicas) Alive() error {
	for _, r := range h.replicas {
		select {
		case <-r.ended:
			if !r.killed.Load() {
				return fmt.Errorf("%s ended; its log is %s.log", r.name, r.dir)
			}
		default:
		}
	}
	return nil
}

// Close ends all replicas and their database.
func (h *Replicas) Close() error {
	var errs []error
	if h.stop != nil {
		h.stop()
		h.sampled.Wait()
	}
	for _, r := range h.replicas {
		errs = append(errs, child.Signal(r.command, syscall.SIGTERM))
	}
	for _, r := range h.replicas {
		select {
		case <-r.ended:
		case <-time.After(20 * time.Second):
			errs = append(errs, fmt.Errorf("%s did not stop in 20 s", r.name), child.Kill(r.command))
			<-r.ended
		}
	}
	if h.database != nil {
		errs = append(errs, h.database.Close())
	}
	return errors.Join(errs...)
}
