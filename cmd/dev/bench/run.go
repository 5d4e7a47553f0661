package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// run is what is kept of one run of a command that measures one thing.
type run[T any] struct {
	Name    string  `json:"name"`
	Date    string  `json:"date"`
	Commit  string  `json:"commit"`
	Machine machine `json:"machine"`
	Result  T       `json:"result"`
}

// subject is what such a command measures.
type subject[T any] struct {
	// folder is where its runs are kept, below the folder of all records.
	folder string
	// about begins its part of the page.
	about string
	// head says what was measured, for a run of the page; said is the line above the
	// printed table.
	head, said func(T) string
	values     func(T) []value
	// budgets says that the page shows them.
	budgets bool
}

// measure runs it, keeps the result if it has a name, and prints it.
func (s *subject[T]) measure(ctx context.Context, m *measurement, measure func(context.Context) (T, error)) error {
	if err := recordable(ctx, m.name); err != nil {
		return err
	}
	commit := revision(ctx)
	found, err := measure(ctx)
	if err != nil {
		return err
	}
	r := &run[T]{Name: m.name, Date: m.started.UTC().Format(time.RFC3339), Commit: commit, Machine: thisMachine(), Result: found}
	if m.name != "" {
		if err := errors.Join(writeRecord(filepath.Join(m.out, s.folder), m.name, r), (&bench{out: m.out}).index()); err != nil {
			return err
		}
	}
	fmt.Printf("\n%s, %d cores\n", s.said(found), r.Machine.Cores)
	if err := printValues(s.values(found), ""); err != nil {
		return err
	}
	return lastLine(found)
}

// page writes the tables of all recorded runs.
func (s *subject[T]) page(page *bytes.Buffer, out string) error {
	records, err := readRecords[run[T]](filepath.Join(out, s.folder))
	if err != nil || len(records) == 0 {
		return err
	}
	page.WriteString(s.about)
	columns := "| measured | value |\n|---|---|\n"
	if s.budgets {
		columns = "| measured | value | budget |\n|---|---|---|\n"
	}
	for _, r := range records {
		m := r.Machine
		fmt.Fprintf(page, "\n### %s\n\n%s; %s, commit %.12s; %s, %d cores, load %s.\n\n%s", r.Name, s.head(r.Result), r.Date, r.Commit, m.CPU, m.Cores, m.Load, columns)
		for _, v := range s.values(r.Result) {
			if fmt.Fprintf(page, "| %s | %s |", v.What, v.number()); s.budgets {
				fmt.Fprintf(page, " %s |", v.budget())
			}
			page.WriteString("\n")
		}
	}
	return nil
}

// player is the command that plays agents: this program.
func player() ([]string, error) {
	self, err := os.Executable()
	return []string{self, "fleet-player"}, err
}
