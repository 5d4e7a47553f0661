package apply

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/axle-cd/axle/internal/jitter"
)

// peerUser is whom the API server takes the peer for, peerNamespace where it
// puts its objects.
const (
	peerUser      = "flux"
	peerNamespace = "flux"
)

// peer measures Flux's engine: the same services, in a namespace of its own.
// The agent stands still meanwhile.
func (a *application) peer(ctx context.Context) (out *Result, err error) {
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
	out = &Result{Services: a.installation.Services}
	for _, one := range []struct {
		what, folder string
		cost         *Cost
	}{{"installs", "install", &out.Install}, {"passes over", "install", &out.Noop}, {"upgrades", "upgrade", &out.Upgrade}} {
		a.say("Flux's engine %s the same services", one.what)
		if err := a.step(ctx, p.itself(), out, one.cost, p.apply(a.folder(one.folder))); err != nil {
			return nil, err
		}
	}
	if err := jitter.Wait(ctx, a.Config.Idle); err != nil {
		return nil, err
	}
	out.RSSIdle = mib(p.itself().usage().RSS)
	// A controller that starts looks at everything once.
	again, err := startPeer(ctx, a.Peer, kubeconfig)
	if err != nil {
		return nil, err
	}
	err = a.step(ctx, again.itself(), out, &out.Restart, again.apply(a.folder("upgrade")))
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

func (p *peerProcess) itself() measured {
	return measured{peerUser, func() []int { return []int{p.command.Process.Pid} }, func() string { return "" }}
}

// apply asks for one pass over a folder and waits for its end.
func (p *peerProcess) apply(folder string) func(context.Context) error {
	return func(ctx context.Context) error {
		if _, err := fmt.Fprintln(p.in, "apply "+folder); err != nil {
			return err
		}
		if !p.out.Scan() {
			return fmt.Errorf("the peer ended: %w", errors.Join(p.out.Err(), ctx.Err()))
		}
		return nil
	}
}

func (p *peerProcess) close() error {
	return errors.Join(p.in.Close(), p.command.Wait())
}
