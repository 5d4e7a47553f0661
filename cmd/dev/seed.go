package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/scale/seed"
)

// seeding is one run of the seed command.
type seeding struct {
	config  seed.Config
	keep    bool
	exit    bool
	verbose bool
	progress
}

func seedCommand() *cobra.Command {
	var s seeding
	var names, lines []string
	for _, p := range seed.Profiles() {
		names = append(names, p[0])
		lines = append(lines, fmt.Sprintf("  %-7s %s", p[0], p[1]))
	}
	c := &cobra.Command{
		Use:   "seed " + strings.Join(names, "|"),
		Short: "Start a hub with seeded data, and keep its clusters polling",
		Long: `Start the real hub and fill its store through the normal API and agent protocol. The
clusters are simulated: they register, poll, download, verify and report, but apply
nothing. It runs until Ctrl-C.

` + strings.Join(lines, "\n"),
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: names,
		RunE: func(c *cobra.Command, args []string) error {
			s.started, s.config.Profile, s.config.Pages, s.config.Progress = time.Now(), args[0], bin.Shipped, s.say
			return s.run(c.Context())
		},
	}
	flags := c.Flags()
	flags.StringVar(&s.config.Dir, "data-dir", "", "empty folder for the hub's data and the token, kept afterwards (default: a temporary one, removed)")
	flags.BoolVar(&s.keep, "keep", false, "keep the temporary folder too")
	flags.BoolVar(&s.exit, "exit", false, "exit once the hub is filled")
	flags.BoolVar(&s.verbose, "verbose", false, "log events of the simulated clusters")
	flags.IntVar(&s.config.Clusters, "clusters", 0, "number of clusters of the size huge (default 10,000)")
	flags.IntVar(&s.config.Services, "services", 0, "number of services of the size huge (default 10 per cluster)")
	flags.DurationVar(&s.config.Interval, "poll-interval", 0, "time between two polls of a simulated cluster (default 10s, huge 2m)")
	return c
}

func (s *seeding) run(ctx context.Context) (err error) {
	if s.verbose {
		s.config.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if s.config.Dir == "" {
		if s.config.Dir, err = os.MkdirTemp("", "axle-seed-"); err != nil {
			return err
		}
		if !s.keep {
			defer func() { err = errors.Join(err, os.RemoveAll(s.config.Dir)) }()
		}
	}
	seeded, err := seed.Fill(ctx, s.config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, seeded.Close()) }()
	s.greet(seeded)
	if s.exit {
		return nil
	}
	fmt.Println("\nThe clusters keep polling. Ctrl-C ends everything.")
	return seeded.Run(ctx)
}

// greet explains how to use the hub.
func (s *seeding) greet(seeded *seed.Seeded) {
	stats := seeded.Fleet.Stats()
	s.say("filled: %d clusters, %d polls, %d statuses reported, %d tarballs (%d bytes) taken",
		len(seeded.Fleet.Clusters()), stats.Polls, stats.ReportedServices, stats.Tarballs, stats.TarballBytes)
	axle := seeded.World.Programs["axle"]
	fmt.Printf(`
  hub    %s
  data   %s
  token  %s

  export AXLE_CONFIG=%s
  alias axle=%s
  axle login %s --token-file %s
  axle services list
`, seeded.World.Hub.URL, seeded.World.Hub.DataDir, seeded.TokenFile, seeded.World.Settings(), axle, seeded.World.Hub.URL, seeded.TokenFile)
}
