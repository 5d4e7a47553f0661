package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/test/console/stack"
	"github.com/axle-cd/axle/test/scale/seed"
)

// consoling is one run of the console command.
type consoling struct {
	config stack.Config
	// script ends the command when it is done.
	script string
	progress
}

func consoleCommand() *cobra.Command {
	var c consoling
	names := []string{stack.Real, stack.Fresh}
	lines := []string{"  fresh   a hub that nobody has set up", "  real    two connected clusters with real pods, a third to add, a Git server"}
	for _, p := range seed.Profiles() {
		names = append(names, p[0])
		lines = append(lines, fmt.Sprintf("  %-7s %s", p[0], p[1]))
	}
	command := &cobra.Command{
		Use:   "console " + strings.Join(names, "|"),
		Short: "Start a hub to look at in a browser, with people who can log in",
		Long: `Start the real hub, filled in one of several ways, and print where to log in and how.
It writes what browser tests need to know to a file and runs until Ctrl-C.

` + strings.Join(lines, "\n"),
		Example:   "  dev console broken\n  AXLE_STACK=/tmp/axle-console-1/stack.json node web/test/all.mjs web/test/broken/*.test.mjs",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.started, c.config.Profile, c.config.Progress = time.Now(), args[0], c.say
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.config.Dir, "data-dir", "", "empty folder for everything, kept afterwards (default: a temporary one, removed)")
	flags.IntVar(&c.config.Clusters, "clusters", 0, "number of clusters of the size huge (default 10,000)")
	flags.StringVar(&c.script, "run", "", "run a script of web/test on it and end, such as screenshots.mjs")
	flags.IntVar(&c.config.Services, "services", 0, "number of services of the size huge (default 10 per cluster)")
	return command
}

func (c *consoling) run(ctx context.Context) (err error) {
	s, err := stack.Start(ctx, c.config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if c.script != "" {
		return c.play(ctx, s)
	}
	f := s.Facts()
	if f.Setup != "" {
		fmt.Printf("\n  set it up at  %s\n  tests         AXLE_STACK=%s\n", f.Setup, s.File())
		<-ctx.Done()
		return nil
	}
	fmt.Printf(`
  console   %s
  e-mail    %s   (also %s, %s, %s)
  password  %s
  tests     AXLE_STACK=%s

Ctrl-C ends everything.
`, f.URL, f.Email, f.People["viewer"], f.People["writer"], f.People["stranger"], f.Password, s.File())
	<-ctx.Done()
	return nil
}

// play runs a script of web/test.
func (c *consoling) play(ctx context.Context, s *stack.Stack) error {
	c.say("node web/test/%s", c.script)
	return s.Node(ctx, c.script, os.Stdout, os.Stderr)
}
