package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// measurement is one run of a command that measures.
type measurement struct {
	out, name string
	progress
}

// measures completes a command that prints one table.
func (m *measurement) measures(c *cobra.Command, run func(context.Context) error) *cobra.Command {
	c.Long += `

The command prints a table. Its last line is one JSON object. With --name it
records the result.`
	m.flags(c, run)
	return c
}

// flags makes a command measure, and keep what it found.
func (m *measurement) flags(c *cobra.Command, run func(context.Context) error) {
	c.Args = cobra.NoArgs
	c.RunE = func(c *cobra.Command, _ []string) error {
		m.started = time.Now()
		return run(c.Context())
	}
	c.Flags().StringVar(&m.name, "name", "", "record the result under this name")
	c.Flags().StringVar(&m.out, "out", recordsFolder, "folder of the records")
}

// progress is what a long command says while it runs.
type progress struct{ started time.Time }

// say prints one line with the time since its start.
func (s *progress) say(format string, args ...any) {
	fmt.Printf("[%6.1fs] %s\n", time.Since(s.started).Seconds(), fmt.Sprintf(format, args...))
}

// lastLine ends the output of a measurement with what programs read: one JSON
// object in one line.
func lastLine(found any) error {
	line, err := json.Marshal(found)
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	return nil
}
