package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// bench is one run of the bench command.
type bench struct {
	out        string
	services   int
	unrecorded bool
	progress
}

// benchmark is one of those that are kept.
type benchmark struct {
	name, what string
	// limit bounds it.
	limit time.Duration
	run   func(context.Context, *bench) (*record, error)
	// not is what its numbers do not show.
	not string
}

// installServices is the number that records are made with.
const installServices = 500

var benchmarks = []benchmark{
	{"idle-poll", "a poll that finds nothing, against a hub process over TLS", 5 * time.Minute, benchIdlePoll,
		"pollers are on the same machine over loopback, and 200 connections are kept, not 1,100; the floor does TLS and HTTP/2 as the hub does and looks nothing up, so its distance from the hub is the hub's own work and that of its logs and timers. The polls as fast as they go share wake-ups that real ones do not. Memory is of 20 clusters"},
	{"tarball", "the first and a repeated tarball of a repository of 100 MB, beside git archive | zstd", 8 * time.Minute, benchTarball,
		"one folder of like files on a warm disk, one tarball at a time; CPU of a core holds git's own. Nothing is sent to anybody"},
	{"delta", "one file of 20 KB changes in a folder of 10 MB of manifests", 5 * time.Minute, benchDelta,
		"manifests of one shape; a delta of binary files or of a reordered folder is larger"},
	{"render", "12 MB of definitions through a render child, and by Kustomize's own interface in a plain process", 5 * time.Minute, benchRender,
		"one large input; small ones cost the child's start, which the install has"},
	{"monorepo", "one commit to one of 2,000 folders of a repository of 200,000 files, every folder followed", 10 * time.Minute, benchMonorepo,
		"upstream on the same machine, no latency, one repository"},
	{"refs", "a repository of 50,001 branches on a local server", 15 * time.Minute, benchRefs,
		"upstream without latency; one clone, since the second has nothing to clone"},
	{"agent-memory", "an agent with objects of a real size, a fifth of which never become ready", 70 * time.Minute, benchAgentMemory,
		"nothing runs the objects and nobody changes them; memory of render children is apart (render), and so are times. Objects are alike within a kind, so that they pack well: a fifth to a third of their text"},
	{"install", "a real agent installs services of 4 objects on a real API server, idles, and runs a pass over all", 15 * time.Minute, benchInstall,
		"an API server without other users, on the machine of the agent; Flux was measured elsewhere, so only requests compare with it. The section apply has it in the same run"},
}

func command() *cobra.Command {
	var b bench
	var names, lines []string
	for _, one := range benchmarks {
		names = append(names, one.name)
		lines = append(lines, fmt.Sprintf("  %-10s %s", one.name, one.what))
	}
	c := &cobra.Command{
		Use:       "bench [NAME...]",
		Short:     "Measure, print tables and record the results",
		Long:      "Measure, print tables, and record the results as JSON with the machine and the\ndate. Without names all run, one after the other.\n\n" + strings.Join(lines, "\n"),
		Args:      cobra.OnlyValidArgs,
		ValidArgs: names,
		RunE:      func(c *cobra.Command, args []string) error { b.started = time.Now(); return b.run(c.Context(), args) },
	}
	c.Flags().StringVar(&b.out, "out", filepath.Join("docs", "benchmarks"), "folder of the records; its table is written to <folder>.md")
	c.Flags().BoolVar(&b.unrecorded, "unrecorded", false, "print only; a record needs a tree without changes")
	c.Flags().IntVar(&b.services, "services", installServices, "of install: services of 4 objects; another number is printed and not recorded")
	return c
}

func (b *bench) run(ctx context.Context, names []string) error {
	if !b.unrecorded {
		if err := recordable(ctx, "bench"); err != nil {
			return err
		}
	}
	var failures []error
	var done []*record
	for _, one := range benchmarks {
		if len(names) > 0 && !slices.Contains(names, one.name) {
			continue
		}
		b.say("%s: %s (at most %s)", one.name, one.what, one.limit)
		r, err := b.one(ctx, one)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", one.name, err))
			continue
		}
		done = append(done, r)
	}
	for _, r := range done {
		fmt.Println()
		if err := r.print(); err != nil {
			return err
		}
	}
	if len(done) > 0 && !b.unrecorded {
		failures = append(failures, b.index())
		fmt.Printf("\nthe records are in %s and %s.md\n", b.out, b.out)
	}
	return errors.Join(failures...)
}

// one runs a benchmark within its limit and records it.
func (b *bench) one(ctx context.Context, one benchmark) (*record, error) {
	ctx, cancel := context.WithTimeout(ctx, one.limit)
	defer cancel()
	r, err := one.run(ctx, b)
	if err != nil {
		return nil, err
	}
	r.Name, r.What = one.name, one.what
	r.Date, r.Commit, r.Machine = time.Now().UTC().Format(time.RFC3339), revision(ctx), thisMachine()
	if r.shrunk || b.unrecorded {
		return r, nil
	}
	return r, r.write(b.out)
}

func (r *record) print() error {
	fmt.Printf("%s: %s\n", r.Name, r.What)
	return printValues(r.Values, "REFERENCE")
}
