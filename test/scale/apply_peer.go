package scale

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/test/procuse"
)

// peerUser is whom the API server takes the peer for, peerNamespace where it
// puts its objects.
const (
	peerUser      = "flux"
	peerNamespace = "flux"
)

// peer measures Flux's engine: the same services, in a namespace of its own.
// The agent stands still meanwhile.
func (a *application) peer(ctx context.Context) (out *Applied, err error) {
	if !a.agent.Ended() {
		if err := a.agent.Kill(); err != nil {
			return nil, err
		}
	}
	for phase, change := range map[string]bool{"install": false, "upgrade": true} {
		for n := range a.installation.Services {
			if err := a.manifests(phase, n, change); err != nil {
				return nil, err
			}
		}
	}
	if _, err := a.World.Kubectl(ctx, installCluster, "create", "namespace", peerNamespace); err != nil {
		return nil, err
	}
	kubeconfig, err := a.World.Cluster(installCluster).KubeconfigFor(peerUser, "system:masters")
	if err != nil {
		return nil, err
	}
	p, err := startPeer(ctx, a.Peer, kubeconfig)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	out = &Applied{Services: a.installation.Services}
	for _, one := range []struct {
		what, folder string
		cost         *Cost
	}{{"installs", "install", &out.Install}, {"passes over", "install", &out.Noop}, {"upgrades", "upgrade", &out.Upgrade}} {
		a.say("Flux's engine %s the same services", one.what)
		if err := a.peerStep(ctx, p, out, one.cost, a.folder(one.folder)); err != nil {
			return nil, err
		}
	}
	if err := a.peerIdle(ctx, p, out); err != nil {
		return nil, err
	}
	// A controller that starts looks at everything once.
	again, err := startPeer(ctx, a.Peer, kubeconfig)
	if err != nil {
		return nil, err
	}
	err = a.peerStep(ctx, again, out, &out.Restart, a.folder("upgrade"))
	return out, errors.Join(err, again.close())
}

// manifests writes a service as the peer applies it.
func (a *application) manifests(phase string, n int, change bool) error {
	files := a.app(n)
	if change {
		for name, text := range upgraded(installName(n)) {
			files[name] = text
		}
	}
	for name, text := range files {
		path := filepath.Join(a.folder(phase), installName(n), filepath.Base(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// peerStep measures one command of the peer.
func (a *application) peerStep(ctx context.Context, p *peerProcess, out *Applied, cost *Cost, folder string) error {
	ctx, cancel := context.WithTimeout(ctx, a.ApplyConfig.Limit)
	defer cancel()
	cluster := a.World.Cluster(installCluster)
	mark, err := cluster.AuditMark()
	if err != nil {
		return err
	}
	api, err := a.apiServerCPU()
	if err != nil {
		return err
	}
	before, err := procuse.Of(p.command.Process.Pid)
	if err != nil {
		return err
	}
	began := time.Now()
	peak, err := p.ask(ctx, "apply "+folder)
	if err != nil {
		return err
	}
	wall := time.Since(began).Seconds()
	after, err := procuse.Of(p.command.Process.Pid)
	if err != nil {
		return err
	}
	apiAfter, err := a.apiServerCPU()
	if err != nil {
		return err
	}
	events, err := cluster.AuditSince(mark)
	services := float64(out.Services)
	*cost = Cost{
		RequestsPerService: float64(len(events.ByUser(peerUser).Requests())) / services,
		CPUPerService:      (after.CPU - before.CPU).Seconds() / services, APIServerCPU: apiAfter - api, Wall: wall,
	}
	out.RSSPeak = max(out.RSSPeak, mib(peak))
	return err
}

// peerIdle reads the peer's memory at the end of as much idle time as the agent had.
func (a *application) peerIdle(ctx context.Context, p *peerProcess, out *Applied) error {
	if err := jitter.Wait(ctx, a.ApplyConfig.Idle); err != nil {
		return err
	}
	u, err := procuse.Of(p.command.Process.Pid)
	out.RSSIdle = mib(u.RSS)
	return err
}

// peerProcess is the peer's program.
type peerProcess struct {
	command *exec.Cmd
	in      interface {
		Write([]byte) (int, error)
		Close() error
	}
	out *bufio.Scanner
}

func startPeer(ctx context.Context, program, kubeconfig string) (*peerProcess, error) {
	p := &peerProcess{command: exec.CommandContext(ctx, program, "--kubeconfig", kubeconfig, "--namespace", peerNamespace)}
	p.command.Stderr = os.Stderr
	in, err := p.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewScanner(out)
	return p, p.command.Start()
}

// ask sends a command, waits for its answer and returns the largest memory
// meanwhile.
func (p *peerProcess) ask(ctx context.Context, line string) (peak int64, err error) {
	sampling, stop := context.WithCancel(ctx)
	var sampler sync.WaitGroup
	sampler.Go(func() {
		for jitter.Wait(sampling, 200*time.Millisecond) == nil {
			if u, err := procuse.Of(p.command.Process.Pid); err == nil {
				peak = max(peak, u.RSS)
			}
		}
	})
	defer sampler.Wait()
	defer stop()
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		return 0, err
	}
	if !p.out.Scan() {
		return 0, fmt.Errorf("the peer ended: %w", errors.Join(p.out.Err(), ctx.Err()))
	}
	var answer struct {
		Seconds float64 `json:"seconds"`
	}
	err = json.Unmarshal(p.out.Bytes(), &answer)
	stop()
	sampler.Wait()
	return peak, err
}

func (p *peerProcess) close() error {
	return errors.Join(p.in.Close(), p.command.Wait())
}
