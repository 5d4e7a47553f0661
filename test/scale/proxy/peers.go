package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/test/procuse"
)

// tunnelPeers are the libraries that the peers' program knows.
var tunnelPeers = []string{"konnectivity-grpc", "konnectivity-http-connect", "remotedialer"}

// peers measures the same GETs and bodies by way of other tunnels, one after
// the other.
func (b *proxyBench) peers(ctx context.Context) error {
	if b.Peer == "" {
		return nil
	}
	// Ours stands still meanwhile.
	if err := b.agent.Kill(); err != nil {
		return err
	}
	kubeconfig, err := b.w.Cluster(proxyCluster).KubeconfigFor("peer", "system:masters")
	if err != nil {
		return err
	}
	for _, library := range tunnelPeers {
		b.Progress("%s", library)
		c, err := b.tunnelPeer(ctx, library, kubeconfig)
		if err != nil {
			return fmt.Errorf("%s: %w", library, err)
		}
		b.result.Peers[library] = c
	}
	return nil
}

// tunnelPeer measures one of them: its hub, and an agent as another process.
func (b *proxyBench) tunnelPeer(ctx context.Context, library, kubeconfig string) (_ *Carried, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hub, ready, err := startTunnelPeer(ctx, b.Peer, nil, "--library", library, "--kubeconfig", kubeconfig)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hub.close()) }()
	authority := filepath.Join(b.w.Dir, library+".pem")
	if err := os.WriteFile(authority, []byte(ready.CA), 0o600); err != nil {
		return nil, err
	}
	agents := func(first, n int) (*tunnelPeer, error) {
		p, _, err := startTunnelPeer(ctx, b.Peer, []string{"PEER_TOKEN=" + ready.Token}, "--library", library, "--hub", ready.Tunnel, "--ca", authority,
			"--first", strconv.Itoa(first), "--agents", strconv.Itoa(n))
		return p, err
	}
	agent, err := agents(0, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, agent.close()) }()
	config := &rest.Config{Host: ready.URL, BearerToken: ready.Token, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(ready.CA)}}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	w := &way{client: client, host: ready.URL, pids: []int{hub.pid(), agent.pid()}, allocated: func(context.Context) (float64, error) {
		atHub, err := hub.ask()
		if err != nil {
			return 0, err
		}
		atAgent, err := agent.ask()
		return float64(atHub.Allocated + atAgent.Allocated), err
	}}
	c, err := b.carried(ctx, w)
	if err != nil || b.Agents == 0 {
		return &c, err
	}
	before, err := hub.settled(ctx, b.Window/20)
	if err != nil {
		return nil, err
	}
	many, err := agents(1, b.Agents)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, many.close()) }()
	after, err := hub.settled(ctx, b.Window/20)
	c.RSSPerAgent = new(float64(after-before) / 1024 / float64(b.Agents))
	return &c, err
}

// tunnelPeer is a process of a peer.
type tunnelPeer struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

// tunnelPeerAnswer is a line that it writes.
type tunnelPeerAnswer struct {
	URL       string `json:"url"`
	Tunnel    string `json:"tunnel"`
	Token     string `json:"token"`
	CA        string `json:"ca"`
	Allocated uint64 `json:"allocated"`
}

// startTunnelPeer returns once the process said that it is ready.
func startTunnelPeer(ctx context.Context, program string, env []string, args ...string) (*tunnelPeer, tunnelPeerAnswer, error) {
	p := &tunnelPeer{command: exec.CommandContext(ctx, program, args...)}
	p.command.Stderr, p.command.Env = os.Stderr, append(os.Environ(), env...)
	var err error
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, tunnelPeerAnswer{}, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, tunnelPeerAnswer{}, err
	}
	p.out = bufio.NewScanner(out)
	if err := p.command.Start(); err != nil {
		return nil, tunnelPeerAnswer{}, err
	}
	ready, err := p.read()
	if err != nil {
		return nil, ready, errors.Join(err, p.close())
	}
	return p, ready, nil
}

func (p *tunnelPeer) read() (a tunnelPeerAnswer, err error) {
	if !p.out.Scan() {
		return a, errors.Join(errors.New("the peer's process ended"), p.out.Err())
	}
	return a, json.Unmarshal(p.out.Bytes(), &a)
}

func (p *tunnelPeer) ask() (a tunnelPeerAnswer, err error) {
	if _, err := fmt.Fprintln(p.in, "memory"); err != nil {
		return a, err
	}
	return p.read()
}

func (p *tunnelPeer) pid() int { return p.command.Process.Pid }

// settled is the process's memory once its garbage is gone.
func (p *tunnelPeer) settled(ctx context.Context, pause time.Duration) (int64, error) {
	return settledMemory(ctx, pause, p.pid(), func() error {
		_, err := fmt.Fprintln(p.in, "collect")
		if err == nil {
			_, err = p.read()
		}
		return err
	})
}

func (p *tunnelPeer) close() error {
	return errors.Join(p.in.Close(), p.command.Wait())
}

// settledMemory is the least memory that a process has in the seconds after
// its garbage was collected; the runtime gives pages back bit by bit.
func settledMemory(ctx context.Context, pause time.Duration, pid int, collect func() error) (least int64, err error) {
	for range 5 {
		if err := collect(); err != nil {
			return 0, err
		}
		if err := pauseFor(ctx, pause); err != nil {
			return 0, err
		}
		u, err := procuse.Of(pid)
		if err != nil {
			return 0, err
		}
		if least == 0 || u.RSS < least {
			least = u.RSS
		}
	}
	return least, nil
}
