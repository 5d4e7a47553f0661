package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/axle-cd/axle/internal/child"
	"github.com/axle-cd/axle/test/port"
)

const (
	// fluxUser is whom the API server takes Flux's controllers for.
	fluxUser = "flux-controllers"
	// fluxSystem is the namespace of their own objects, fluxTarget that of the
	// services.
	fluxSystem = "flux-system"
	fluxTarget = "flux-services"
	// fluxRepository is their Git repository, and that of its object.
	fluxRepository = "flux"
	// fluxQuiet is longer than the 30 s after which kustomize-controller looks again
	// at what it found without a source when it started.
	fluxQuiet = 40 * time.Second
)

// Controllers are the programs of Flux: its controllers as they are released.
type Controllers struct {
	Source, Kustomize string
	// CRDs are folders with the definitions of their resources.
	CRDs []string
}

// fluxRun is Flux's controllers with the same services, one Kustomization each.
type fluxRun struct {
	*application
	client     dynamic.Interface // an administrator, not them
	kubeconfig string
	storage    string // where source-controller serves what it fetched
	running    []*controller
	ended      chan string // names of those that ended
}

// controller is one of their processes.
type controller struct {
	command *exec.Cmd
	log     string
	waited  chan struct{}
}

// controllers measures Flux's whole controllers. The agent stands still meanwhile.
func (a *application) controllers(ctx context.Context) (out *Result, err error) {
	if !a.agent.Ended() {
		if err := a.agent.Kill(); err != nil {
			return nil, err
		}
	}
	f := &fluxRun{application: a}
	defer func() { err = errors.Join(err, f.kill()) }()
	revision, err := f.declare(ctx)
	if err != nil {
		return nil, fmt.Errorf("declare Flux's objects: %w", err)
	}
	out = &Result{Services: a.installation.Services}
	a.say("Flux's controllers install the same services")
	err = a.step(ctx, f.itself(), out, &out.Install, func(ctx context.Context) error {
		if err := f.start(); err != nil {
			return err
		}
		return f.await(ctx, applied(revision))
	})
	if err != nil {
		return nil, fmt.Errorf("install by Flux: %w", err)
	}
	if err := a.quiet(ctx, fluxUser, fluxQuiet); err != nil {
		return nil, err
	}
	if err := a.idle(ctx, f.itself(), out); err != nil {
		return nil, fmt.Errorf("idle Flux: %w", err)
	}
	return out, f.change(ctx, out)
}

// change runs the phases after the installation.
func (f *fluxRun) change(ctx context.Context, out *Result) error {
	f.say("Flux's controllers pass over all services, with nothing to change")
	err := f.step(ctx, f.itself(), out, &out.Noop, func(ctx context.Context) error {
		return errors.Join(f.requestAll(ctx, "noop"), f.await(ctx, handled("noop")))
	})
	if err != nil {
		return fmt.Errorf("pass of Flux over all: %w", err)
	}
	for _, one := range []struct {
		what   string
		cost   *Cost
		change func(name string) map[string]string
	}{{"field", &out.Upgrade, upgraded}, {"comment", &out.Rerender, commented}} {
		f.say("Flux's controllers get a commit that changes a %s of every service", one.what)
		if err := errors.Join(f.commit(ctx, out, one.cost, one.change), f.quiet(ctx, fluxUser, quiet)); err != nil {
			return fmt.Errorf("a %s changes in Flux: %w", one.what, err)
		}
	}
	f.say("Flux's controllers are started again")
	if err := f.kill(); err != nil {
		return err
	}
	return f.step(ctx, f.itself(), out, &out.Restart, func(ctx context.Context) error { return errors.Join(f.start(), f.quiet(ctx, fluxUser, quiet)) })
}

// commit changes each service by one commit. The phase begins where a receiver of
// Flux would have taken the webhook.
func (f *fluxRun) commit(ctx context.Context, out *Result, cost *Cost, change func(name string) map[string]string) error {
	files := map[string]string{}
	for n := range f.installation.Services {
		maps.Copy(files, change(installName(n)))
	}
	revision, err := f.World.Git.Commit(ctx, fluxRepository, "main", "change", files)
	if err != nil {
		return err
	}
	return f.step(ctx, f.itself(), out, cost, func(ctx context.Context) error {
		return errors.Join(f.request(ctx, gitRepositories, fluxRepository, revision), f.await(ctx, applied(revision)))
	})
}

// itself are both controllers together.
func (f *fluxRun) itself() measured {
	pids := func() (list []int) {
		for _, one := range f.running {
			list = append(list, one.command.Process.Pid)
		}
		return list
	}
	tail := func() (text string) {
		for _, one := range f.running {
			log, _ := os.ReadFile(one.log)
			text += filepath.Base(one.log) + ":\n" + string(log[max(0, len(log)-2048):])
		}
		return text
	}
	return measured{fluxUser, pids, tail}
}

// start starts both, with the flags of their release that are not about its pod.
func (f *fluxRun) start() (err error) {
	if f.storage == "" {
		if f.storage, err = port.Address(); err != nil {
			return err
		}
	}
	storage := filepath.Join(f.World.Dir, "flux-artifacts")
	if err := os.MkdirAll(storage, 0o755); err != nil {
		return err
	}
	f.ended = make(chan string, 2)
	return errors.Join(
		f.run(f.Controllers.Source, "--storage-path", storage, "--storage-addr", f.storage, "--storage-adv-addr", f.storage),
		f.run(f.Controllers.Kustomize),
	)
}

// run starts one of them.
func (f *fluxRun) run(program string, flags ...string) error {
	name := filepath.Join(f.World.Dir, filepath.Base(program)+".log")
	log, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(program, append(flags, "--watch-all-namespaces", "--metrics-addr", "0", "--health-addr", "0")...)
	command.Env = append(os.Environ(), "KUBECONFIG="+f.kubeconfig, "RUNTIME_NAMESPACE="+fluxSystem)
	command.Stdout, command.Stderr = log, log
	if err := child.Start(command); err != nil {
		return err
	}
	one, ended := &controller{command, name, make(chan struct{})}, f.ended
	f.running = append(f.running, one)
	go func() {
		_ = command.Wait() // whoever waits for a result is told of the end
		close(one.waited)
		ended <- filepath.Base(program)
	}()
	return nil
}

// kill ends both at once.
func (f *fluxRun) kill() error {
	var errs []error
	for _, one := range f.running {
		errs = append(errs, child.Kill(one.command))
		<-one.waited
	}
	f.running = nil
	return errors.Join(errs...)
}
