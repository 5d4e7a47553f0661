package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/axle-cd/axle/cmd/release/debian"
	"github.com/axle-cd/axle/internal/release"
)

// plan is what a release is made from. Equal plans make equal bytes, except for
// signatures.
type plan struct {
	// source is the root of a checkout, out the folder that the release is written to.
	source, out string
	version     string
	commit      string
	when        time.Time
	targets     []target
	// registry is where the release is published first, downloads the address of its
	// files.
	registry, downloads string
	// builder names who builds, goVersion the compiler, packager the module file of nfpm.
	builder, goVersion, packager string
	store                        debian.Store
	sign                         release.Signer // nil: no signatures
	publicKey                    []byte         // PEM
	say                          func(format string, args ...any)

	built map[target]map[string]string // files of programs
}

// target is an operating system and an architecture, as Go names them.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// allTargets are those of a release.
var allTargets = []target{{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}}

func parseTargets(text string) ([]target, error) {
	if text == "" {
		return allTargets, nil
	}
	var out []target
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		os, arch, _ := strings.Cut(word, "/")
		if t := (target{os, arch}); slices.Contains(allTargets, t) {
			out = append(out, t)
		} else {
			return nil, fmt.Errorf("no target %q: one of %v", word, allTargets)
		}
	}
	if !slices.ContainsFunc(out, func(t target) bool { return t.os == "linux" }) {
		return nil, errors.New("a release needs a target of linux: the images run there")
	}
	return out, nil
}

// terraformProvider is the program that Terraform and OpenTofu start.
const terraformProvider = "terraform-provider-axle"

// programs are what each operating system gets.
func (t target) programs() []string {
	if t.os != "linux" {
		return []string{"axle", terraformProvider}
	}
	return []string{"axle", "axle-agent", "axle-hub", "axle-operator", "axle-render", "axle-render-rare", terraformProvider}
}

func (p *plan) linux() []string {
	var out []string
	for _, t := range p.targets {
		if t.os == "linux" {
			out = append(out, t.arch)
		}
	}
	return out
}

// readSource finds the commit and its time, and a version if none is given.
func (p *plan) readSource(ctx context.Context, dirty bool) error {
	head, err := p.git(ctx, "log", "-1", "--format=%H %ct")
	if err != nil {
		return err
	}
	commit, seconds, _ := strings.Cut(head, " ")
	p.commit = commit
	if given := os.Getenv("SOURCE_DATE_EPOCH"); given != "" {
		seconds = given
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH is no time in seconds: %q", seconds)
	}
	p.when = time.Unix(unix, 0).UTC()
	changed, err := p.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" && !dirty {
		return fmt.Errorf("the checkout has changes that no commit has, so nobody could build this release again: commit them, or try with --dirty\n%s", changed)
	}
	if p.version == "" {
		described, _ := p.git(ctx, "describe", "--tags", "--exact-match")
		p.version = described
		if described == "" {
			p.version = "0.0.0-" + p.when.Format("20060102150405") + ".g" + commit[:8]
		}
	}
	p.version = strings.TrimPrefix(p.version, "v")
	if _, err := semver.StrictNewVersion(p.version); err != nil || !imageTag.MatchString(p.version) {
		return fmt.Errorf("version %q is not a semantic version that an image may have as its tag, such as 1.4.2 or 1.5.0-rc.1", p.version)
	}
	return nil
}

// imageTag leaves out the + of build metadata.
var imageTag = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

func (p *plan) git(ctx context.Context, args ...string) (string, error) {
	return p.run(ctx, nil, "git", args...)
}

func (p *plan) run(ctx context.Context, env []string, program string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, program, args...)
	c.Dir = p.source
	c.Env = append(os.Environ(), env...)
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", program, args[0], err, errs.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// compile builds the programs of all targets.
func (p *plan) compile(ctx context.Context) error {
	p.built = map[target]map[string]string{}
	for _, t := range p.targets {
		p.say("building %s", t)
		if err := p.build(ctx, t, t.programs()); err != nil {
			return err
		}
	}
	return nil
}

// build builds programs: static, without paths of this machine, with the commit
// recorded.
func (p *plan) build(ctx context.Context, t target, programs []string) error {
	const info = " -X github.com/axle-cd/axle/internal/buildinfo."
	flags := "-s -w" + info + "Version=" + p.version + info + "commit=" + p.commit
	if p.publicKey != nil {
		key, err := compiledKey(p.publicKey)
		if err != nil {
			return err
		}
		flags += info + "ReleaseKey=" + key
	}
	dir := filepath.Join(p.out, ".programs", t.os+"_"+t.arch)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	args := []string{"build", "-trimpath", noTables, "-buildvcs=false", "-mod=readonly", "-ldflags", flags, "-o", dir + "/"}
	p.built[t] = map[string]string{}
	for _, name := range programs {
		args = append(args, "./cmd/"+name)
		p.built[t][name] = filepath.Join(dir, name)
	}
	// Settings of the machine must not change the result.
	env := []string{"CGO_ENABLED=0", "GOOS=" + t.os, "GOARCH=" + t.arch, "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off"}
	if _, err := p.run(ctx, env, "go", args...); err != nil {
		return fmt.Errorf("%s: %w", t, err)
	}
	return nil
}

// noTables is the flag of compilers with which the tests are compiled (ADR 195). All that this
// builds is stripped of the tables in any case.
const noTables = "-gcflags=all=-dwarf=false"

// toolEnv lets tools be compiled as the tests are (ADR 195), so that no package is compiled
// twice, whatever the machine's settings.
func toolEnv() []string {
	return []string{"CGO_ENABLED=0", "GOFLAGS=-trimpath " + noTables, "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0"}
}
