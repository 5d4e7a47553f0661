// Command packages prints the packages that make test runs under the race detector, and
// those that it runs plain, so that each test runs once (ADR 123), and those that make
// quick runs. The lists are in internal/archtest/race.txt. It is a program of its own
// because it is needed before anything else is compiled.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/axle-cd/axle/internal/archtest"
)

const usage = `usage: packages raced|plain|all|quick

raced  the light ones, and the heavy ones that differ from the commit in ` + record + `
plain  all others of the module, the longest first
all    all that ever run under the race detector: what make race-all runs
quick  those whose tests start no program of ours, no API server, no database, no browser and no Git server
`

func main() {
	if len(os.Args) != 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, choice string) error {
	root, err := archtest.Root()
	if err != nil {
		return err
	}
	c, err := load(ctx, root)
	if err != nil {
		return err
	}
	if choice == "raced" || choice == "plain" {
		if err := c.choose(ctx); err != nil {
			return err
		}
	}
	var chosen []string
	switch choice {
	case "raced":
		chosen = c.raced()
		fmt.Fprintln(os.Stderr, c.why)
	case "plain":
		chosen = c.plain()
	case "all":
		chosen = c.all()
	case "quick":
		if chosen, err = c.quick(ctx); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%q is no choice\n%s", choice, usage)
	}
	for _, folder := range chosen {
		fmt.Println("./" + folder)
	}
	return nil
}
