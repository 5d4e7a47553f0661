package world

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/axle-cd/axle/internal/child"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/port"
)

// Hub is a running axle-hub.
type Hub struct {
	// URL is the one origin for agents and people.
	URL string
	// DataDir is its folder; it stays over restarts.
	DataDir string
	// Log is the file with its output.
	Log string
	// CA is the file of the authority that signed its certificate, empty
	// without TLS.
	CA string

	program string
	flags   []string
	env     []string
	running *program
}

// HubAt is a hub that somebody else runs, at a URL whose certificate the file's
// authority signed.
func HubAt(url, caFile string) *Hub { return &Hub{URL: url, CA: caFile} }

// program is a process whose end is known.
type program struct {
	command *exec.Cmd
	done    chan struct{}
	err     error
}

// start starts a program whose output goes to the end of a log file.
func start(path, log string, env, args []string) (*program, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p := &program{command: exec.Command(path, args...), done: make(chan struct{})}
	p.command.Env = append(os.Environ(), env...)
	p.command.Stdout, p.command.Stderr = out, out
	if err := child.Start(p.command); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(path), err)
	}
	go func() {
		p.err = p.command.Wait()
		close(p.done)
	}()
	return p, nil
}

// end sends a signal and waits for the end.
func (p *program) end(ctx context.Context, s syscall.Signal) error {
	if p == nil {
		return nil
	}
	if err := child.Signal(p.command, s); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return errors.Join(ctx.Err(), child.Kill(p.command))
	}
}

func (w *World) startHub(ctx context.Context) (*Hub, error) {
	address, err := port.Address()
	if err != nil {
		return nil, err
	}
	h := &Hub{URL: "http://" + address, DataDir: filepath.Join(w.Dir, "hub"), Log: filepath.Join(w.Dir, "hub.log"), program: w.Programs["axle-hub"], env: w.HubEnv}
	if w.TLS {
		h.URL, h.CA = "https://"+address, filepath.Join(h.DataDir, "ca.pem")
	}
	h.flags = append([]string{"serve", "--listen", address, "--data-dir", h.DataDir, "--allow-upstream-cidrs", "127.0.0.0/8", "--allow-http-upstreams"}, w.Config.Hub...)
	if w.TLS {
		h.flags = append(h.flags, "--dev-ca")
	}
	if err := os.MkdirAll(h.DataDir, 0o700); err != nil {
		return nil, err
	}
	return h, h.Start(ctx)
}

// Start starts the hub, again after a Kill or Stop, on the same address and
// folder, and returns once it is ready.
func (h *Hub) Start(ctx context.Context) error {
	running, err := start(h.program, h.Log, h.env, h.flags)
	if err != nil {
		return err
	}
	h.running = running
	err = eventually.Wait(ctx, readyWithin, func() error {
		select {
		case <-running.done:
			return fmt.Errorf("the hub ended: %w", running.err)
		default:
		}
		return h.Ready(ctx)
	})
	if err != nil {
		return fmt.Errorf("the hub is not ready: %w; end of its log:\n%s", err, tail(h.Log))
	}
	return nil
}

// Ready asks /readyz.
func (h *Hub) Ready(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL+"/readyz", nil)
	if err != nil {
		return err
	}
	client, err := h.Client()
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz answers %s", response.Status)
	}
	return nil
}

// Client trusts the hub's certificate.
func (h *Hub) Client() (*http.Client, error) {
	if h.CA == "" {
		return http.DefaultClient, nil
	}
	authority, err := os.ReadFile(h.CA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s holds no certificate", h.CA)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}, nil
}

// Kill ends the hub at once, as a crash would.
func (h *Hub) Kill() error {
	if h == nil {
		return nil
	}
	return h.running.end(context.Background(), syscall.SIGKILL)
}

// Stop ends the hub in order.
func (h *Hub) Stop(ctx context.Context) error { return h.running.end(ctx, syscall.SIGTERM) }

// Signal sends a signal without waiting for its effect.
func (h *Hub) Signal(s syscall.Signal) error { return child.Signal(h.running.command, s) }

// SetEnv adds environment variables for the next start; of two of one name the
// later counts.
func (h *Hub) SetEnv(env ...string) { h.env = append(h.env, env...) }

// Freeze and Thaw stop and resume the process.
func (h *Hub) Freeze() error { return child.Signal(h.running.command, syscall.SIGSTOP) }

// Thaw ends a Freeze.
func (h *Hub) Thaw() error { return child.Signal(h.running.command, syscall.SIGCONT) }

// Pid is the process id of the running hub.
func (h *Hub) Pid() int { return h.running.command.Process.Pid }

// Ended returns an error with the end of the log when the process is gone.
func (h *Hub) Ended() error {
	select {
	case <-h.running.done:
		return fmt.Errorf("the hub ended: %w; end of its log:\n%s", h.running.err, tail(h.Log))
	default:
		return nil
	}
}

// Run runs another command of axle-hub on the same data, such as backup.
func (h *Hub) Run(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, h.program, append(args, "--data-dir", h.DataDir)...)
	command.Env = append(os.Environ(), h.env...)
	out, err := command.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("axle-hub %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// SetupTokenFile is where the hub wrote its setup token.
func (h *Hub) SetupTokenFile() string { return filepath.Join(h.DataDir, "setup-token") }
