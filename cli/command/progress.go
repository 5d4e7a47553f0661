package command

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/plain"
)

// Progress shows that something takes time: on a terminal, after a second, a
// line with a counter; elsewhere a line every ten seconds. Say changes its
// text.
type Progress struct {
	a       *App
	started time.Time
	stop    chan struct{}
	done    sync.WaitGroup

	mu   sync.Mutex
	text string
}

// Begin starts a progress line; the caller must call End.
func (a *App) Begin(format string, args ...any) *Progress {
	p := &Progress{a: a, started: a.Now(), stop: make(chan struct{}), text: fmt.Sprintf(format, args...)}
	if !a.Quiet {
		p.done.Go(p.show)
	}
	return p
}

// Say changes the text. Without a terminal each change is a new line.
func (p *Progress) Say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.mu.Lock()
	changed := text != p.text
	p.text = text
	p.mu.Unlock()
	if changed && !p.a.Quiet && !output.IsTerminal(p.a.Err) {
		fmt.Fprintf(p.a.Err, "%s (%s)\n", text, brief(p.a.Now().Sub(p.started)))
	}
}

// End removes the line.
func (p *Progress) End() {
	close(p.stop)
	p.done.Wait()
}

func (p *Progress) show() {
	terminal := output.IsTerminal(p.a.Err)
	every := 10 * time.Second
	if terminal {
		every = time.Second
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	shown := false
	for {
		select {
		case <-p.stop:
			if shown && terminal {
				fmt.Fprint(output.Raw(p.a.Err), "\r\x1b[K")
			}
			return
		case <-ticker.C:
			p.mu.Lock()
			text := p.text
			p.mu.Unlock()
			took := brief(p.a.Now().Sub(p.started))
			if terminal {
				fmt.Fprintf(output.Raw(p.a.Err), "\r\x1b[K%s … %s", plain.Line(text, 0), took)
			} else {
				fmt.Fprintf(p.a.Err, "%s (%s)\n", text, took)
			}
			shown = true
		}
	}
}

// firstAnswer is the minimum time for the first of repeated requests.
const firstAnswer = 15 * time.Second

// PollUntil repeats a request every second until done returns true, the limit
// is over or the command is interrupted. Over the limit it returns false and no
// error.
func (a *App) PollUntil(ctx context.Context, limit time.Duration, done func(ctx context.Context) (bool, error)) (bool, error) {
	deadline := time.Now().Add(limit)
	// The first request gets enough time however short the limit is: the caller
	// wants to see what is missing, not a timeout.
	first, cancelFirst := context.WithTimeout(ctx, max(limit, firstAnswer))
	defer cancelFirst()
	ok, err := done(first)
	if ok || err != nil {
		return ok, err
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			if context.Cause(ctx) == context.DeadlineExceeded {
				return false, nil
			}
			return false, ctx.Err()
		}
		ok, err := done(ctx)
		if err != nil && context.Cause(ctx) == context.DeadlineExceeded {
			return false, nil // the answer before already says what is missing
		}
		if ok || err != nil {
			return ok, err
		}
	}
}
