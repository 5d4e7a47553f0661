package rendertest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/internal/frame"
)

// patience bounds every wait for a child on a busy machine.
const patience = 2 * time.Minute

// Files are the files of a pass: path and content. A content that starts with "-> "
// is a symbolic link.
type Files map[string]string

// Child is a running axle-render.
type Child struct {
	t       testing.TB
	command *exec.Cmd
	in      io.WriteCloser
	out     io.Reader
	stderr  bytes.Buffer
	exited  chan error
	// ended is closed when the process has ended.
	ended chan struct{}
	// Tool is the command line of every tool.
	Tool []string
	// Lookups answers lookups by "apiVersion kind namespace/name"; all others find
	// nothing.
	Lookups map[string]string
}

// Start starts a child that ends with the test.
func Start(t testing.TB) *Child {
	t.Helper()
	return start(t, Binary(t))
}

// StartRare is Start for the program with all renderers.
func StartRare(t testing.TB) *Child {
	t.Helper()
	return start(t, Rare(t))
}

func start(t testing.TB, binary string) *Child {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	c := &Child{t: t, command: exec.CommandContext(ctx, binary), exited: make(chan error, 1), ended: make(chan struct{})}
	c.command.Env = []string{}
	c.command.Stderr = &c.stderr
	in, err := c.command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	// Our own pipe: Wait must not close it under a reader.
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.command.Stdout = write
	c.in, c.out = in, read
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	go func() {
		c.exited <- c.command.Wait()
		close(c.ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-c.ended
		read.Close()
	})
	return c
}

// PID is the process id.
func (c *Child) PID() int { return c.command.Process.Pid }

// said is the beginning of the child's error output: a crashing runtime prints every
// goroutine after its reason.
func (c *Child) said() string {
	words := c.stderr.String()
	if len(words) > 1_000 {
		words = words[:1_000] + " ..."
	}
	return words
}

// Send writes one frame.
func (c *Child) Send(m *renderv1.ToChild) {
	c.t.Helper()
	if err := frame.Write(c.in, m); err != nil {
		c.t.Fatalf("%v; the child said: %s", err, c.said())
	}
}

// SendFiles writes the files in the order of their names.
func (c *Child) SendFiles(files Files) {
	c.t.Helper()
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		file := &renderv1.File{Path: name, Content: []byte(files[name])}
		if target, ok := bytes.CutPrefix(file.Content, []byte("-> ")); ok {
			file.Link, file.Content = string(target), nil
		}
		c.Send(&renderv1.ToChild{Message: &renderv1.ToChild_File{File: file}})
	}
}

// Pass sends a whole pass, answers its lookups and returns its result.
func (c *Child) Pass(files Files, begin *renderv1.Begin) *renderv1.Result {
	c.t.Helper()
	c.SendFiles(files)
	c.Send(&renderv1.ToChild{Message: &renderv1.ToChild_Begin{Begin: begin}})
	for {
		var message renderv1.ToParent
		if err := frame.Read(c.out, &message); err != nil {
			c.t.Fatalf("%v; the child said: %s", err, c.said())
		}
		if result := message.GetResult(); result != nil {
			return result
		}
		if tool := message.GetTool(); tool != nil {
			c.Send(&renderv1.ToChild{Message: &renderv1.ToChild_Tool{Tool: c.runTool(files, begin, tool)}})
			continue
		}
		q := message.GetLookup()
		key := fmt.Sprintf("%s %s %s/%s", q.GetApiVersion(), q.GetKind(), q.GetNamespace(), q.GetName())
		answer := &renderv1.LookupAnswer{Object: []byte(c.Lookups[key])}
		c.Send(&renderv1.ToChild{Message: &renderv1.ToChild_Lookup{Lookup: answer}})
	}
}

// CloseInput ends the child's standard input.
func (c *Child) CloseInput() { c.in.Close() }

// Wait returns how the process ended.
func (c *Child) Wait() error {
	c.t.Helper()
	select {
	case err := <-c.exited:
		return err
	case <-time.After(patience):
		c.t.Fatal("the child does not end")
		return nil
	}
}

// Bytes returns a result as one comparable text.
func Bytes(t testing.TB, r *renderv1.Result) string {
	t.Helper()
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
