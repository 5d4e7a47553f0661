package render

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/frame"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// judgeTimeout is how long one batch may take. The child itself ends a batch
	// after 2 s, unless a single object hangs.
	judgeTimeout = 20 * time.Second
	// judgeIdle is how long a child waits for the next batch.
	judgeIdle = 15 * time.Second
)

// Rule is a health rule in CEL, by its expressions; an empty expression is not used.
type Rule struct {
	// Name is used in messages.
	Name                                            string
	Suspended, InProgress, Failed, Current, Message string
}

// Verdict is the judgement of a rule about one object.
type Verdict struct {
	// Status is a health status.
	Status, Message string
}

// Judge asks the program with all renderers for verdicts of objects, given as JSON, and
// returns those of the first ones, at least one; without objects it checks whether
// the rule compiles. One batch is judged at a time, in a child that renders nothing
// and ends when it has nothing to judge. Errors are Invalid for a rule that does not
// compile, Exhausted for a child that did not survive the batch, and Unavailable if
// the child cannot be asked.
func (r *Runner) Judge(ctx context.Context, rule Rule, objects [][]byte) ([]Verdict, error) {
	select {
	case r.judges <- struct{}{}:
		defer func() { <-r.judges }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the child that judges: %w", ctx.Err())
	}
	for {
		c, reused, err := r.takeJudge()
		if err != nil {
			return nil, err
		}
		answer, err := r.verdicts(ctx, c, rule, objects)
		if err == nil {
			r.giveJudge(c)
			return verdictsOf(answer, len(objects))
		}
		c.settle(err)
		c.close()
		// As with passes, a child may reach its maximum age between two batches.
		if reused && ctx.Err() == nil && c.state.Success() && !errcodeSet(err) {
			continue
		}
		return nil, r.explainJudge(ctx, c, err)
	}
}

func (r *Runner) takeJudge() (c *child, reused bool, err error) {
	r.mu.Lock()
	c, r.judge = r.judge, nil
	closed := r.closed
	r.mu.Unlock()
	if closed {
		return nil, false, errcode.New(errcode.Unavailable, "the agent is shutting down")
	}
	if c != nil && !worn(c) {
		return c, true, nil
	}
	if c != nil {
		c.close()
	}
	binary := Rare(r.config.Binary)
	if c, err = start(binary, "", 0); err != nil {
		return nil, false, errcode.New(errcode.Unavailable, "the program %s, which evaluates CEL, does not start: %w", binary, err)
	}
	return c, false, nil
}

func (r *Runner) giveJudge(c *child) {
	c.passes++
	passes := c.passes
	r.mu.Lock()
	keep := !r.closed && !worn(c)
	if keep {
		r.judge = c
	}
	r.mu.Unlock()
	if !keep {
		c.close()
		return
	}
	time.AfterFunc(min(judgeIdle, maxLife-time.Since(c.born)), func() {
		r.mu.Lock()
		idle := r.judge == c && (c.passes == passes || worn(c))
		if idle {
			r.judge = nil
		}
		r.mu.Unlock()
		if idle {
			c.close()
		}
	})
}

// verdicts runs one batch. An error leaves the child unusable.
func (r *Runner) verdicts(ctx context.Context, c *child, rule Rule, objects [][]byte) (*renderv1.Verdicts, error) {
	limit := min(judgeTimeout, r.config.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, c.interrupt)
	defer stop()
	answer, err := c.judge(&renderv1.Judge{Rule: rule.Name, Objects: objects, Expressions: &renderv1.Expressions{
		Suspended: rule.Suspended, InProgress: rule.InProgress, Failed: rule.Failed, Current: rule.Current, Message: rule.Message,
	}})
	if err != nil && errors.Is(context.Cause(ctx), errTimeout) {
		return nil, errcode.New(errcode.Exhausted, "judging took longer than %s and was stopped", limit)
	}
	if err == nil && !stop() {
		// A child that was just interrupted must not be reused.
		return nil, ctx.Err()
	}
	return answer, err
}

func (c *child) judge(asked *renderv1.Judge) (*renderv1.Verdicts, error) {
	if err := c.send(&renderv1.ToChild{Message: &renderv1.ToChild_Judge{Judge: asked}}); err != nil {
		return nil, err
	}
	var message renderv1.ToParent
	if err := frame.Read(c.reader, &message); err != nil {
		return nil, &pipeError{err}
	}
	answer := message.GetVerdicts()
	if answer == nil {
		return nil, fmt.Errorf("unexpected frame %T from the child that judges", message.GetMessage())
	}
	return answer, nil
}

func verdictsOf(answer *renderv1.Verdicts, objects int) ([]Verdict, error) {
	switch got := len(answer.GetVerdicts()); {
	case answer.GetRare():
		return nil, errcode.New(errcode.Unavailable, "the program started to evaluate rules does not support CEL; install axle-render-rare of this version")
	case answer.GetFailure() != nil:
		return nil, errcode.New(errcode.Invalid, "%s", answer.GetFailure().GetMessage())
	case got > objects, got == 0 && objects > 0:
		return nil, errcode.New(errcode.Internal, "the child gave %d verdicts for %d objects", got, objects)
	}
	var all []Verdict
	for _, v := range answer.GetVerdicts() {
		all = append(all, Verdict{Status: v.GetStatus(), Message: v.GetMessage()})
	}
	return all, nil
}

// explainJudge turns a broken pipe into what happened to the child.
func (r *Runner) explainJudge(ctx context.Context, c *child, err error) error {
	var pipe *pipeError
	if errcodeSet(err) || !errors.As(err, &pipe) {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("judging was stopped: %w", ctx.Err())
	}
	how, words := c.ended()
	if outOfMemory(words) {
		return errcode.New(errcode.Exhausted, "judging used more than 512 MiB and was stopped")
	}
	if strings.Contains(words, "stack exceeds") {
		return errcode.New(errcode.Exhausted, "judging recursed too deep and was stopped")
	}
	// Its error output may quote an object, so it is not shown.
	r.config.Log.Warn("the child that evaluates rules ended during a batch", logkey.Status, how)
	return errcode.New(errcode.Exhausted, "the child that evaluates rules ended during a batch (%s)", how)
}
