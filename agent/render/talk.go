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

// errTimeout is the cause of a pass's context if its time is up.
var errTimeout = errors.New("render timeout")

// pass runs one pass with a child. An error leaves the child unusable.
func (r *Runner) pass(ctx context.Context, c *child, p Pass) (Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.config.Timeout, errTimeout)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go r.guard(ctx, c, end)
	stop := context.AfterFunc(ctx, c.interrupt)
	defer stop()
	result, reads, err := r.talk(ctx, c, p)
	switch cause := context.Cause(ctx); {
	case err != nil && errors.Is(cause, errCPU):
		return Result{}, errcode.New(errcode.Exhausted,
			"rendering took more than %s of processor time and was stopped; a template may loop without end", r.config.CPU.Round(time.Millisecond))
	case err != nil && errors.Is(cause, errTimeout):
		return Result{}, errcode.New(errcode.Exhausted,
			"rendering took longer than %s and was stopped; a lookup or a tool may not answer, or the node is short of processor time", r.config.Timeout.Round(time.Millisecond))
	}
	if err != nil {
		return Result{}, err
	}
	// A child that was just interrupted must not be reused.
	if !stop() {
		return Result{}, ctx.Err()
	}
	if result.GetRare() {
		return Result{}, errRare
	}
	if failed := result.GetFailure(); failed != nil {
		return Result{}, errcode.New(errcode.Invalid, "%s", located(failed))
	}
	return resultOf(result, reads), nil
}

// talk sends the files and the begin frame, and answers lookups and tools until the
// result.
func (r *Runner) talk(ctx context.Context, c *child, p Pass) (*renderv1.Result, []Read, error) {
	l := layoutOf(p)
	if err := sendFiles(l, toChild(c.writer)); err != nil {
		return nil, nil, err
	}
	message := p.begin(l)
	if err := r.addCode(message); err != nil {
		return nil, nil, err
	}
	begin := &renderv1.ToChild{Message: &renderv1.ToChild_Begin{Begin: message}}
	if err := c.send(begin); err != nil {
		return nil, nil, err
	}
	answers := newAnswers(p.Lookup)
	for {
		var message renderv1.ToParent
		if err := frame.Read(c.reader, &message); err != nil {
			return nil, nil, &pipeError{err}
		}
		switch m := message.GetMessage().(type) {
		case *renderv1.ToParent_Result:
			return m.Result, answers.reads, nil
		case *renderv1.ToParent_Lookup:
			answer := answers.answer(ctx, m.Lookup)
			if err := c.send(&renderv1.ToChild{Message: &renderv1.ToChild_Lookup{Lookup: answer}}); err != nil {
				return nil, nil, err
			}
		case *renderv1.ToParent_Tool:
			output := r.runTool(ctx, p, l, m.Tool)
			if err := c.send(&renderv1.ToChild{Message: &renderv1.ToChild_Tool{Tool: output}}); err != nil {
				return nil, nil, err
			}
		default:
			return nil, nil, fmt.Errorf("unexpected frame %T from the render child", m)
		}
	}
}

func (c *child) send(m *renderv1.ToChild) error {
	if err := frame.Write(c.writer, m); err != nil {
		return &pipeError{err}
	}
	if err := c.writer.Flush(); err != nil {
		return &pipeError{err}
	}
	return nil
}

// addCode adds the code to steps that name a module of the agent.
func (r *Runner) addCode(begin *renderv1.Begin) error {
	for _, step := range begin.GetSteps() {
		if step.GetWasm().GetTool() == "" {
			continue
		}
		found, err := r.tools.find(step.GetWasm().GetTool(), true)
		if err != nil {
			return err
		}
		if step.Wasm.Code, err = found.code(); err != nil {
			return err
		}
	}
	return nil
}

// located puts a failure's file and line before its message.
func located(f *renderv1.Failure) string {
	switch {
	case f.GetFile() == "":
		return f.GetMessage()
	case f.GetLine() == 0:
		return f.GetFile() + ": " + f.GetMessage()
	}
	return fmt.Sprintf("%s:%d: %s", f.GetFile(), f.GetLine(), f.GetMessage())
}

// errcodeSet reports whether an error already has a code and a message.
func errcodeSet(err error) bool {
	var coded *errcode.Error
	return errors.As(err, &coded)
}

// explain turns a broken pipe into what happened to the child.
func (r *Runner) explain(ctx context.Context, c *child, err error) error {
	var pipe *pipeError
	if errcodeSet(err) || !errors.As(err, &pipe) {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("rendering was stopped: %w", ctx.Err())
	}
	how, words := c.ended()
	switch {
	case strings.Contains(words, "failed to create new OS thread"):
		return errcode.New(errcode.Unavailable, "rendering could start no thread and was stopped: the agent's pod or its node is at its limit of processes (podPidsLimit of the kubelet); the pass is tried again")
	case outOfMemory(words):
		return errcode.New(errcode.Exhausted, "rendering used more than 512 MiB and was stopped; a template may grow without end, or the service is too large for one render")
	case strings.Contains(words, "stack exceeds"):
		return errcode.New(errcode.Exhausted, "rendering recursed too deep and was stopped; a template may include itself")
	}
	// Its error output may quote a value of a service, so it goes into the error,
	// which is scrubbed, and not into the log.
	r.config.Log.Warn("render child ended during a pass", logkey.Status, how)
	if words == "" {
		return errcode.New(errcode.Unavailable,
			"the render child ended during the pass (%s); the node may be short of memory; the pass is tried again", how)
	}
	return errcode.New(errcode.Internal, "the render child ended during the pass (%s): %s", how, strings.TrimSpace(words))
}

// outOfMemory recognises the messages of the Go runtime.
func outOfMemory(words string) bool {
	// The last is the garbage collector of Go 1.26, which uses memory it could not
	// get.
	for _, sign := range []string{"out of memory", "cannot allocate memory", "cannot map pages", "cannot reserve", "mgcmark_greenteagc.go"} {
		if strings.Contains(words, sign) {
			return true
		}
	}
	return false
}
