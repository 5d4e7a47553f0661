package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"text/tabwriter"
)

// table prints the record.
func table(short bool) error {
	r, err := readRecord()
	if err != nil {
		return fmt.Errorf("%w: make test writes it", err)
	}
	return r.print(os.Stdout, short)
}

// total adds up the steps.
func (r *record) total() step {
	t := step{Name: "all"}
	for _, s := range r.Steps {
		t.merge(s)
	}
	return t
}

// calibrations is how many calibrations a time is, for people; empty if there is none.
func (r *record) calibrations(cpu float64) string {
	if r.Calibration == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", cpu/r.Calibration)
}

// print writes the table; the short form has the steps only.
func (r *record) print(out io.Writer, short bool) error {
	t := r.total()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "step\tCPU-s\tseconds\tcalibrations\tAPI servers\tbinaries\tcached\taxe runs\t")
	for _, s := range append(slices.Clone(r.Steps), t) {
		failed := ""
		if s.Failed {
			failed = " failed"
		}
		fmt.Fprintf(w, "%s\t%.1f\t%.0f\t%s\t%d\t%d\t%d\t%d\t%s\n", s.Name, s.CPU, s.Seconds, r.calibrations(s.CPU), s.Programs[apiServer].Started, s.TestBinaries, s.Cached, s.Axe, failed)
	}
	if err := w.Flush(); err != nil || short {
		return err
	}
	fmt.Fprintln(out)
	if err := top(out, "program", t.Programs, 25); err != nil {
		return err
	}
	fmt.Fprintln(out)
	if err := top(out, "tests in", t.Folders, 15); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nProcesses are looked at once a second. What none of these looks saw, such as a program of a few milliseconds, is \"unseen below\" the program that waited for it; the sums are the kernel's.")
	if r.Calibration != 0 {
		fmt.Fprintf(out, "Calibration: %.1f CPU-s for go build std into an empty cache, %d processors. ", r.Calibration, r.Processors)
	}
	fmt.Fprintf(out, "All: %.0f CPU-s, commit %s.\n", t.CPU, r.Commit)
	return nil
}

// top prints the largest.
func top(out io.Writer, title string, uses map[string]use, most int) error {
	maps.DeleteFunc(uses, func(_ string, u use) bool { return u.Started == 0 && u.CPU < 0.05 })
	names := slices.SortedFunc(maps.Keys(uses), func(a, b string) int {
		return cmp.Or(cmp.Compare(uses[b].CPU, uses[a].CPU), cmp.Compare(a, b))
	})
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "CPU-s\tstarted\tAPI servers\t  %s\n", title)
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	var rest use
	for i, name := range names {
		u := uses[name]
		if i < most {
			fmt.Fprintf(w, "%.1f\t%s\t%s\t  %s\n", u.CPU, number(u.Started), number(u.APIServers), name)
		} else {
			rest = use{rest.CPU + u.CPU, rest.Started + u.Started, rest.APIServers + u.APIServers}
		}
	}
	if len(names) > most {
		fmt.Fprintf(w, "%.1f\t%s\t%s\t  %d others\n", rest.CPU, number(rest.Started), number(rest.APIServers), len(names)-most)
	}
	return w.Flush()
}
