package story

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/node"
)

// limit bounds each step.
const limit = 10 * time.Minute

// Config of a story.
type Config struct {
	// Dir is an existing folder for releases, bundles and settings.
	Dir string
	// Progress gets a line for each step.
	Progress func(format string, args ...any)
}

// Step is one that was measured.
type Step struct {
	What    string  `json:"what"`
	Seconds float64 `json:"seconds"`
}

// Result is what was measured.
type Result struct {
	Steps []Step `json:"steps"`
	// Bundle is the size of the bundle in bytes.
	Bundle int64 `json:"bundle"`
}

type story struct {
	Config
	Result
	releases []Release
	node     *node.Node
	git      *gitserver.Server
	client   string // the command axle of the moment
}

// The versions of the story: one commit, so that only the version differs.
const (
	first  = "1.0.0"
	second = "1.1.0"
)

// Play plays the story and measures its steps. It starts and ends the node.
func Play(ctx context.Context, c Config) (result *Result, err error) {
	s := &story{Config: c}
	if s.releases, err = Make(ctx, filepath.Join(c.Dir, "releases"), c.Progress, first, second); err != nil {
		return nil, err
	}
	s.client = s.releases[0].Client
	defer func() {
		if s.git != nil {
			err = errors.Join(err, s.git.Close())
		}
		if s.node != nil {
			err = errors.Join(err, s.node.Close())
		}
	}()
	for _, part := range []struct {
		what string
		run  func(context.Context) error
	}{
		{"start the node", s.start},
		{"push the bundle of " + first + " into an empty registry", s.carry},
		{"see that the node reaches no other registry", s.elsewhere},
		{"install: until hub, operator and agent run", s.install},
		{"declare: until the operator has written it to the hub", s.declare},
		{"clone a repository over HTTPS, and its first service: until its page answers", s.deliver},
		{"a commit: until the page has changed", s.change("good evening")},
		{"upgrade: until the hub is " + second, s.upgrade},
		{"until the agent has upgraded itself to " + second, s.upgraded},
		{"the hub's process is killed: until it answers again", s.kill},
		{"the hub's pod is deleted: until it answers again", s.deletePod},
		{"a commit after that: until the page has changed", s.change("good night")},
		{"install the shape ha with the trial's Postgres: until three replicas run", s.installHA},
		{"one of its pods is killed: until three replicas run", s.killReplica},
	} {
		if err := s.step(ctx, part.what, part.run); err != nil {
			return nil, err
		}
	}
	return &s.Result, nil
}

// step plays and measures one part.
func (s *story) step(ctx context.Context, what string, run func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s.Progress("%s", what)
	began := time.Now()
	if err := run(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	s.Steps = append(s.Steps, Step{what, time.Since(began).Seconds()})
	return nil
}

func (s *story) start(ctx context.Context) error {
	var err error
	s.node, err = node.Start(ctx, node.Config{Progress: s.Progress})
	return err
}

// carry brings the first release into the registry as a bundle, and makes the bundle anew
// from there.
func (s *story) carry(ctx context.Context) error {
	bundle, again := filepath.Join(s.Dir, "bundle.tar"), filepath.Join(s.Dir, "again.tar")
	if _, err := s.axle(ctx, "bundle", "create", bundle, "--from", s.releases[0].Dir, "--key", s.releases[0].Key); err != nil {
		return err
	}
	// The command of a release knows the key by itself.
	for _, args := range [][]string{
		{"bundle", "verify", bundle},
		{"bundle", "push", bundle, node.Registry, "--plain-http"},
		{"bundle", "create", again, "--from", node.Registry, "--version", first, "--plain-http"},
	} {
		if _, err := s.axle(ctx, args...); err != nil {
			return err
		}
	}
	if err := exec.CommandContext(ctx, "cmp", bundle, again).Run(); err != nil {
		return fmt.Errorf("the bundle made from the registry differs from the one that was pushed: %w", err)
	}
	info, err := os.Stat(bundle)
	if err != nil {
		return err
	}
	s.Bundle = info.Size()
	return errors.Join(os.Remove(bundle), os.Remove(again))
}

// axle runs the command of the release as a person does.
func (s *story) axle(ctx context.Context, args ...string) (string, error) {
	return s.run(ctx, s.client, args...)
}

func (s *story) kubectl(ctx context.Context, args ...string) (string, error) {
	return s.run(ctx, "kubectl", append([]string{"--kubeconfig", s.node.Cluster.Kubeconfig()}, args...)...)
}

// run returns the standard output, and all of it in an error.
func (s *story) run(ctx context.Context, program string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, program, args...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.Dir, "AXLE_CONFIG=" + filepath.Join(s.Dir, "axle.yaml")}
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), strings.Join(args, " "), err, out.String(), errs.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// eventually waits for a condition.
func (s *story) eventually(ctx context.Context, condition func() error) error {
	return eventually.WaitEvery(ctx, limit, 250*time.Millisecond, condition)
}

// object is what kubectl prints of a path in an object.
func (s *story) object(ctx context.Context, namespace, object, path string) (string, error) {
	return s.kubectl(ctx, "--namespace", namespace, "get", object, "-o", "jsonpath="+path)
}
