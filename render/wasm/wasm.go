// Package wasm runs a WebAssembly module (WASI preview 1) that prints
// manifests, with wazero.
//
// A module gets on standard input what a tool gets, and sees the service's files at
// /, read-only. It has no sockets, no environment except PWD, no clock (the time is
// always the creation time of the revision) and no randomness (it is always the
// same), so that equal input gives equal output. It may use 128 MiB and Timeout. It
// is interpreted: compiling a module of 4 MB takes seconds, while printing manifests
// takes a fraction of one. The render child calls it.
package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tree"
)

const (
	// Timeout is how long a module may run; it is shorter than the limit of a pass.
	Timeout = 25 * time.Second
	// memoryPages is in units of 64 KiB.
	memoryPages = 128 << 20 >> 16
	// maxWords is how much of a module's standard error is kept, in bytes.
	maxWords = 4 << 10
)

// Request is one run of a module.
type Request struct {
	Tree *tree.Tree
	// Dir is the module's working folder.
	Dir string
	// Module is a file in Dir; instead Code can be a module named Tool.
	Module string
	Code   []byte
	Tool   string
	// Told is the module's standard input.
	Told []byte
	// Now is the time of its clock.
	Now time.Time
	// Namespace is the namespace of objects that name none.
	Namespace string
}

// Render runs the module and returns the objects that it printed.
func Render(ctx context.Context, r Request) ([]manifest.Object, []string, error) {
	source, code := path.Join(r.Dir, r.Module), r.Code
	if r.Tool != "" {
		source = fmt.Sprintf("%s (tool %s)", path.Clean(r.Dir), r.Tool)
	} else {
		var err error
		if code, err = r.Tree.Read(source); err != nil {
			return nil, nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	run := run{request: r, source: source, files: &files{FS: r.Tree.FS()}}
	if err := run.module(ctx, code); err != nil {
		return nil, nil, err
	}
	objects, warnings, err := manifest.DecodeOutput(source, run.output.Bytes())
	if err == nil {
		err = manifest.Once(objects, r.Namespace)
	}
	return objects, warnings, err
}

// run is one running module.
type run struct {
	request Request
	source  string
	files   *files
	output  capped
	words   capped
}

// module compiles and runs the code.
func (r *run) module(ctx context.Context, code []byte) error {
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().
		WithMemoryLimitPages(memoryPages).WithCloseOnContextDone(true))
	defer runtime.Close(context.WithoutCancel(ctx))
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
		return fmt.Errorf("prepare a module: %w", err)
	}
	compiled, err := runtime.CompileModule(ctx, code)
	if err != nil {
		return r.fail("the file is not a runnable WebAssembly module: " + err.Error())
	}
	r.output.limit, r.words.limit = manifest.MaxFileBytes+1, maxWords
	config := wazero.NewModuleConfig().WithName("").WithArgs(path.Base(r.source)).
		WithStdin(bytes.NewReader(r.request.Told)).WithStdout(&r.output).WithStderr(&r.words).
		WithEnv("PWD", path.Join("/", r.request.Dir)).
		WithFSConfig(wazero.NewFSConfig().WithFSMount(r.files, "/")).
		WithWalltime(func() (int64, int32) { return r.request.Now.Unix(), 0 }, 1)
	_, err = runtime.InstantiateModule(withMemory(ctx), compiled, config)
	return r.ended(ctx, err)
}

// ended says why a module failed.
func (r *run) ended(ctx context.Context, err error) error {
	var exit *sys.ExitError
	switch {
	case err == nil, errors.As(err, &exit) && exit.ExitCode() == 0:
		return nil
	case ctx.Err() != nil:
		return r.fail(fmt.Sprintf("the module ran longer than %s and was stopped", Timeout))
	case errors.As(err, &exit):
		return r.fail(fmt.Sprintf("the module ended with exit code %d", exit.ExitCode()))
	}
	message, _, _ := strings.Cut(err.Error(), "\n")
	return r.fail("the module failed: " + message)
}

// fail is an error with the position that the module printed, and with any refused
// access.
func (r *run) fail(message string) error {
	words := strings.TrimSpace(r.words.String())
	if refused := r.files.refusal(); refused != nil {
		message += ": " + refused.Error()
	}
	if words != "" {
		message += ": " + words
	}
	bad := &manifest.Error{File: r.source, Message: message}
	if file, line := manifest.PlaceIn(words, r.request.Dir, r.request.Tree.IsFile); file != "" {
		bad.File, bad.Line = file, line
	}
	return bad
}

// files records the first existing file that could not be opened.
type files struct {
	fs.FS
	mu      sync.Mutex
	refused error
}

// Open opens a file of the tree.
func (f *files) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	var bad *tree.Error
	if errors.As(err, &bad) {
		f.mu.Lock()
		if f.refused == nil {
			f.refused = fmt.Errorf("%s: %s", bad.Path, bad.Message)
		}
		f.mu.Unlock()
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return file, err
}

func (f *files) refusal() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refused
}

// capped keeps the first bytes that are written.
type capped struct {
	bytes.Buffer
	limit int
}

// Write keeps what fits, and always accepts everything.
func (c *capped) Write(p []byte) (int, error) {
	if room := c.limit - c.Len(); room > 0 {
		c.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
