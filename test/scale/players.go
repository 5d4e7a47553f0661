package scale

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/axle-cd/axle/internal/child"
)

// filesPerPlayer bounds the connections of one process, below the 20,000 files
// that a process may commonly hold and the 10,000 uses of a bootstrap token.
const filesPerPlayer = 9000

// Players are processes that play clusters.
type Players struct {
	all []*playing
	say func(string, ...any)

	mu     sync.Mutex
	took   map[string][]time.Time // by digest
	errors []string
}

// playing is one of the processes.
type playing struct {
	command *exec.Cmd
	in      io.WriteCloser
	lines   sync.WaitGroup
	// answers are registered, settled and stats, in the order asked.
	answers chan played
}

// StartPlayers starts as many processes of program as the clusters need, lets
// them register and returns once all have. token makes a bootstrap token for so
// many clusters, and say is told of progress and of errors.
func StartPlayers(ctx context.Context, program []string, cfg PlayerConfig, token func(ctx context.Context, uses int) (string, error), say func(string, ...any)) (_ *Players, err error) {
	p := &Players{say: say, took: map[string][]time.Time{}}
	most := filesPerPlayer
	if cfg.Tunnels {
		most /= 2 // a second connection for each
	}
	n := (cfg.Count + most - 1) / most
	for i := range n {
		part := cfg
		part.First = cfg.First + cfg.Count*i/n
		part.Count = cfg.First + cfg.Count*(i+1)/n - part.First
		if part.Token, err = token(ctx, part.Count); err == nil {
			err = p.add(program, part)
		}
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	for _, one := range p.all {
		if _, err := one.wait(ctx, "registered"); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

func (p *Players) add(program []string, cfg PlayerConfig) (err error) {
	one := &playing{command: exec.Command(program[0], program[1:]...), answers: make(chan played, 16)}
	one.command.Stderr = os.Stderr
	if one.in, err = one.command.StdinPipe(); err != nil {
		return err
	}
	out, err := one.command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(one.command); err != nil {
		return err
	}
	p.all = append(p.all, one)
	one.lines.Go(func() {
		defer close(one.answers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.line(one, lines.Bytes())
		}
	})
	return one.order(order{Do: "register", Cluster: &cfg})
}

// line takes what a process wrote.
func (p *Players) line(one *playing, text []byte) {
	var l played
	if err := json.Unmarshal(text, &l); err != nil {
		l = played{What: "error", Text: string(text)}
	}
	switch l.What {
	case "took":
		p.mu.Lock()
		p.took[l.Digest] = append(p.took[l.Digest], time.UnixMicro(l.At))
		p.mu.Unlock()
	case "error":
		p.mu.Lock()
		p.errors = append(p.errors, l.Text)
		p.mu.Unlock()
		p.say("a cluster met: %s", l.Text)
	case "progress":
		p.say("%d clusters registered", l.N)
	default:
		one.answers <- l
	}
}

// Deliveries returns when clusters took a content.
func (p *Players) Deliveries(digest string) []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]time.Time(nil), p.took[digest]...)
}

// Errors are those that the clusters met, in words. Stats counts all, and of
// each process only the first are here.
func (p *Players) Errors() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.errors...)
}

func (p *playing) order(o order) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = p.in.Write(append(text, '\n'))
	return err
}

// wait returns the next answer of a kind.
func (p *playing) wait(ctx context.Context, what string) (played, error) {
	for {
		select {
		case l, ok := <-p.answers:
			if !ok {
				return l, fmt.Errorf("a process of the fleet ended before it was %s", what)
			}
			if l.What == what {
				return l, nil
			}
		case <-ctx.Done():
			return played{}, ctx.Err()
		}
	}
}

// Happen lets an event come on a watch of a cluster.
func (p *Players) Happen(cluster, namespace string) error {
	for _, one := range p.all {
		if err := one.order(order{Do: "happen", Name: cluster, Namespace: namespace}); err != nil {
			return err
		}
	}
	return nil
}

// Start lets the clusters live: they poll and open their tunnels.
func (p *Players) Start() error { return p.orderAll("start") }

func (p *Players) orderAll(do string) error {
	for _, one := range p.all {
		if err := one.order(order{Do: do}); err != nil {
			return err
		}
	}
	return nil
}

// Stats adds up what all did so far.
func (p *Players) Stats(ctx context.Context) (sum PlayStats, err error) {
	if err := p.orderAll("stats"); err != nil {
		return sum, err
	}
	for _, one := range p.all {
		l, err := one.wait(ctx, "stats")
		if err != nil {
			return sum, err
		}
		sum.add(*l.Stats)
	}
	return sum, nil
}

// Close ends the processes.
func (p *Players) Close() error {
	var errs []error
	for _, one := range p.all {
		_ = one.order(order{Do: "stop"}) // or it ended already
		errs = append(errs, one.in.Close())
	}
	for _, one := range p.all {
		timer := time.AfterFunc(20*time.Second, func() { _ = child.Signal(one.command, syscall.SIGKILL) })
		go func() {
			for range one.answers {
			}
		}()
		one.lines.Wait()
		if err := one.command.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("a process of the fleet: %w", err))
		}
		timer.Stop()
	}
	return errors.Join(errs...)
}
