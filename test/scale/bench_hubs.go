package scale

import (
	"bufio"
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
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/axle-cd/axle/internal/child"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/pg"
	"github.com/axle-cd/axle/test/port"
	"github.com/axle-cd/axle/test/procuse"
)

// hubs are the hub's replicas as processes, with their database.
type hubs struct {
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
	peak   int64        // since forget
	memory []MemoryTime // since forget, one a second
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
	killed                      bool
	last                        procuse.Usage // as long as it ran
}

// startHubs starts so many replicas. One alone is on SQLite unless a database
// is asked for.
func startHubs(ctx context.Context, dir, program string, replicas int, postgres bool, flags []string) (_ *hubs, err error) {
	h := &hubs{program: program, dir: dir, flags: flags, forgot: time.Now()}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	if replicas > 1 || postgres {
		if h.database, err = pg.Start(ctx); err != nil {
			return nil, err
		}
		if h.url, _, err = h.database.Clone(ctx); err != nil {
			return nil, err
		}
	}
	for n := range replicas {
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
func (h *hubs) add(ctx context.Context, n int) (err error) {
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
func (h *hubs) ready(ctx context.Context, r *replica, log string) error {
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

func (h *hubs) baseURL() string { return "https://" + h.replicas[0].address }

func (h *hubs) addresses() (list []string) {
	for _, r := range h.replicas {
		list = append(list, r.address)
	}
	return list
}

// sample keeps the peak of the memory, and the last of each replica.
func (h *hubs) sample(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		h.usage()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// usage returns what all replicas and their children took and take.
func (h *hubs) usage() (cpu time.Duration) {
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

// held is the median of what was held in the last time, in MB.
func (h *hubs) held(last time.Duration) float64 {
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

// files is the number of open files of the replica that has most.
func (h *hubs) files() (most int) {
	for _, r := range h.replicas {
		most = max(most, procuse.Files(r.command.Process.Pid))
	}
	return most
}

// memoryTimes are the largest of each tenth second since forget.
func (h *hubs) memoryTimes() (list []MemoryTime) {
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

// forget begins a new peak and returns the last in MB.
func (h *hubs) forget() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.peak
	h.peak, h.memory, h.forgot = 0, nil, time.Now()
	return float64(last) / 1e6
}

// databaseCPU is that of the database's processes, those that ended too.
func (h *hubs) databaseCPU() time.Duration {
	if h.database == nil {
		return 0
	}
	u, err := procuse.Of(h.database.Pid())
	if err != nil {
		return 0
	}
	return u.CPU
}

// metrics returns the sum over the replicas of each series, by its name with
// labels. Replicas that were killed are left out.
func (h *hubs) metrics(ctx context.Context) (map[string]float64, error) {
	all := map[string]float64{}
	for _, r := range h.replicas {
		if r.killed {
			continue
		}
		var body bytes.Buffer
		if err := get(ctx, http.DefaultClient, "http://"+r.metrics+"/metrics", &body); err != nil {
			return nil, err
		}
		for lines := bufio.NewScanner(&body); lines.Scan(); {
			at := strings.LastIndexByte(lines.Text(), ' ')
			if at < 0 || strings.HasPrefix(lines.Text(), "#") {
				continue
			}
			if n, err := strconv.ParseFloat(lines.Text()[at+1:], 64); err == nil {
				all[lines.Text()[:at]] += n
			}
		}
	}
	return all, nil
}

// kill ends a replica as a crash would.
func (h *hubs) kill(n int) error {
	h.usage()
	r := h.replicas[n]
	r.killed = true
	if err := child.Signal(r.command, syscall.SIGKILL); err != nil {
		return err
	}
	<-r.ended
	return nil
}

// again starts a killed replica anew, as it was started before.
func (h *hubs) again(ctx context.Context, n int) error {
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
	r.command, r.ended, r.killed, r.last = command, ended, false, procuse.Usage{}
	h.mu.Unlock()
	return h.ready(ctx, r, log.Name())
}

// alive fails when a replica ended that nobody killed.
func (h *hubs) alive() error {
	for _, r := range h.replicas {
		select {
		case <-r.ended:
			if !r.killed {
				return fmt.Errorf("%s ended; its log is %s.log", r.name, r.dir)
			}
		default:
		}
	}
	return nil
}

func (h *hubs) close() error {
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
