package main

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
	out      string
	services int
	progress
}

// benchmark is one of those that are kept.
type benchmark struct {
	name, what string
	// limit bounds it.
	limit time.Duration
	run   func(context.Context, *bench) (*record, error)
}

// installServices is the number that records are made with.
const installServices = 500

var benchmarks = []benchmark{
	{"idle-poll", "a poll that finds nothing, against a hub process over TLS", 5 * time.Minute, benchIdlePoll},
	{"tarball", "the first and a repeated tarball of a repository of 100 MB, beside git archive | zstd", 8 * time.Minute, benchTarball},
	{"delta", "one file of 20 KB changes in a folder of 10 MB of manifests", 5 * time.Minute, benchDelta},
	{"render", "12 MB of definitions through a render child, and by Kustomize's own interface in a plain process", 5 * time.Minute, benchRender},
	{"monorepo", "one commit to one of 2,000 folders of a repository of 200,000 files, every folder followed", 10 * time.Minute, benchMonorepo},
	{"install", "a real agent installs services of 4 objects on a real API server, idles, and runs a pass over all", 15 * time.Minute, benchInstall},
}

func benchCommand() *cobra.Command {
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
	c.Flags().IntVar(&b.services, "services", installServices, "of install: services of 4 objects; another number is printed and not recorded")
	return c
}

func (b *bench) run(ctx context.Context, names []string) error {
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
	if len(done) > 0 {
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
	if r.shrunk {
		return r, nil
	}
	return r, r.write(b.out)
}

func (r *record) print() error {
	fmt.Printf("%s: %s\n", r.Name, r.What)
	return printValues(r.Values, "REFERENCE")
}
