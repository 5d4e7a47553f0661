package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cmd/dev/picture"
	"github.com/axle-cd/axle/test/scale/fleet"
	"github.com/axle-cd/axle/test/scale/hubproc"
)

const (
	// scrapeEvery is the time between two readings of the hubs' metrics.
	scrapeEvery = 5 * time.Second
	// rateOver stands for Grafana's $__rate_interval.
	rateOver = 6 * scrapeEvery
)

func picturesCommand() *cobra.Command {
	var b benchFleet
	c := &cobra.Command{
		Use:   "dashboard-pictures",
		Short: "Draw the dashboards from the metrics of hubs under a simulated fleet",
		Long: `Start real hub processes and a simulated fleet, as bench-fleet does, with a commit every
15 s, and kill one replica in the middle. What the hubs serve is read every 5 s; each
panel's query is evaluated on that by Prometheus' engine, and drawn as SVG.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			b.started = time.Now()
			return b.pictures(c.Context())
		},
	}
	f := c.Flags()
	f.IntVar(&b.config.Clusters, "clusters", 200, "number of clusters")
	f.DurationVar(&b.config.Duration, "duration", 5*time.Minute, "time that the pictures show")
	f.StringVar(&b.out, "out", filepath.Join("docs", "pictures"), "folder of the pictures")
	return c
}

func (b *benchFleet) pictures(ctx context.Context) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	backups, err := os.MkdirTemp("", "axle-backups-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(backups)) }()
	var recorder picture.Recorder
	var ended time.Time
	shown := b.config.Duration
	b.config = fleet.Config{
		Clusters: b.config.Clusters, Services: 5, Replicas: 3, Duration: shown, Poll: 20 * time.Second, Commits: 15 * time.Second, Touch: 0.2, Tunnels: true, Kill: true,
		HubFlags: []string{"--backup-to", backups, "--backup-schedule", "* * * * *"}, Player: []string{self, "fleet-player"}, Progress: b.say,
		Beside: func(ctx context.Context, hubs *hubproc.Replicas) error {
			for ctx.Err() == nil {
				if err := read(ctx, hubs, &recorder); err != nil && ctx.Err() == nil {
					b.say("a reading is lost: %v", err) // of the replica that is killed
				}
				ended = time.Now()
				select {
				case <-time.After(scrapeEvery):
				case <-ctx.Done():
				}
			}
			return nil
		},
	}
	if _, err := fleet.Measure(ctx, b.config); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join("deploy", "dashboards", "*.json"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no dashboards below deploy/dashboards; run it in the root of the checkout: %w", errors.Join(err, os.ErrNotExist))
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		drawn, err := picture.Draw(ctx, text, &recorder, picture.Window{From: ended.Add(-shown), To: ended, Scrape: scrapeEvery, Rate: rateOver})
		if err != nil {
			return err
		}
		to := filepath.Join(b.out, strings.TrimSuffix(filepath.Base(file), ".json")+".svg")
		if err := os.WriteFile(to, drawn, 0o644); err != nil {
			return err
		}
		b.say("%s: %d KiB", to, len(drawn)>>10)
	}
	return nil
}

// read takes one reading of all replicas.
func read(ctx context.Context, hubs *hubproc.Replicas, into *picture.Recorder) error {
	texts, err := hubs.Served(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	for name, text := range texts {
		if err := into.Take(text, now, "axle", name); err != nil {
			return err
		}
	}
	return nil
}
