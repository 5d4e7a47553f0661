package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/axle-cd/axle/internal/atomicfile"
)

// record is what is kept of one benchmark.
type record struct {
	Name    string  `json:"name"`
	What    string  `json:"what"`
	Date    string  `json:"date"`
	Commit  string  `json:"commit"`
	Machine machine `json:"machine"`
	// Settings are what was chosen, such as the number of services.
	Settings map[string]any `json:"settings,omitempty"`
	Values   []value        `json:"values"`
	// shrunk is set when it does not compare with others and is not kept.
	shrunk bool
}

// value is one number of a record.
type value struct {
	What  string  `json:"what"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Budget is the most that it should be, or with Floor the least; nil means no budget.
	Budget *float64 `json:"budget,omitempty"`
	Floor  bool     `json:"floor,omitempty"`
	// Reference says what it compares with, and how.
	Reference string `json:"reference,omitempty"`
}

// machine says where it was measured; numbers of two machines do not compare.
type machine struct {
	CPU       string `json:"cpu"`
	Cores     int    `json:"cores"`
	MemoryMiB int64  `json:"memoryMiB"`
	Kernel    string `json:"kernel"`
	Go        string `json:"go"`
	// Load is the one-minute load average. Above the number of cores, wall-clock
	// times mean little.
	Load string `json:"load"`
}

func most(v value, budget float64) value { v.Budget = &budget; return v }

func (v value) number() string { return decimal(v.Value) + " " + v.Unit }

func (v value) budget() string {
	if v.Budget == nil {
		return "-"
	}
	sign, kept := "≤", v.Value <= *v.Budget
	if v.Floor {
		sign, kept = "≥", v.Value >= *v.Budget
	}
	text := sign + " " + decimal(*v.Budget)
	if !kept {
		text += " MISSED"
	}
	return text
}

// decimal shows three digits that matter.
func decimal(f float64) string {
	switch {
	case f >= 100 || f == float64(int64(f)):
		return strconv.FormatFloat(f, 'f', 0, 64)
	case f >= 1:
		return strconv.FormatFloat(f, 'f', 2, 64)
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}

func (r *record) write(dir string) error { return writeRecord(dir, r.Name, r) }

// writeRecord keeps one run as JSON under its name.
func writeRecord(dir, name string, record any) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, name+".json"), append(text, '\n'), 0o644)
}

// printValues shows them beside their budgets; beside heads the last column.
func printValues(values []value, beside string) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 3, ' ', 0)
	fmt.Fprintf(w, "MEASURED\tVALUE\tBUDGET\t%s\t\n", beside)
	for _, v := range values {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t\n", v.What, v.number(), v.budget(), v.Reference)
	}
	return w.Flush()
}

// index writes the table of all records for people.
func (b *bench) index() error {
	var page bytes.Buffer
	page.WriteString(`# Benchmarks

Written by ` + "`make bench`" + ` from the records and notes in [test/benchmarks](../test/benchmarks). A
budget is what the design promises. Numbers compare only on one machine: to judge a
change, run both versions there. A load above the number of cores means that other
work ran at the same time. Counts, bytes and CPU still hold then, but wall-clock times
and ratios of them do not.
`)
	for _, one := range benchmarks {
		text, err := os.ReadFile(filepath.Join(b.out, one.name+".json"))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		var r record
		if err := json.Unmarshal(text, &r); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		r.section(&page)
		fmt.Fprintf(&page, "\nNot shown: %s.\n", one.not)
	}
	// What people measured by hand is theirs.
	notes, err := filepath.Glob(filepath.Join(b.out, "*.md"))
	if err != nil {
		return err
	}
	for _, file := range notes {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		page.WriteString("\n" + strings.TrimSpace(string(text)) + "\n")
	}
	for _, section := range []func(*bytes.Buffer, string) error{
		applyPage, proxyPage, fanoutSubject.page, uiSubject.page, observeSubject.page, operatorSubject.page, terraformSubject.page, templatesSubject.page, pushSubject.page, fleetPage,
	} {
		if err := section(&page, b.out); err != nil {
			return err
		}
	}
	return atomicfile.Write(pageOf(b.out), page.Bytes(), 0o644)
}

func (r *record) section(page *bytes.Buffer) {
	m := r.Machine
	fmt.Fprintf(page, "\n## %s\n\nMeasured: %s.\n\n%s, commit %.12s; %s, %d cores, %d MiB, load %s, Linux %s, %s",
		r.Name, r.What, r.Date, r.Commit, m.CPU, m.Cores, m.MemoryMiB, m.Load, m.Kernel, m.Go)
	for _, key := range slices.Sorted(maps.Keys(r.Settings)) {
		fmt.Fprintf(page, "; %s: %v", key, r.Settings[key])
	}
	page.WriteString(".\n\n| measured | value | budget | reference |\n|---|---|---|---|\n")
	for _, v := range r.Values {
		fmt.Fprintf(page, "| %s | %s | %s | %s |\n", strings.ReplaceAll(v.What, "|", "\\|"), v.number(), v.budget(), strings.ReplaceAll(v.Reference, "|", "\\|"))
	}
}

// readRecords reads all recorded runs of one benchmark, in order of their names.
func readRecords[T any](dir string) ([]T, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	records := make([]T, len(files))
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &records[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return records, nil
}

// thisMachine reads /proc; what cannot be read stays empty.
func thisMachine() machine {
	m := machine{Cores: runtime.NumCPU(), Go: runtime.Version(), CPU: runtime.GOARCH}
	read := func(path string) string { text, _ := os.ReadFile(path); return string(text) }
	for line := range strings.Lines(read("/proc/cpuinfo")) {
		if _, name, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(line, "model name") {
			m.CPU = strings.TrimSpace(name)
			break
		}
	}
	for line := range strings.Lines(read("/proc/meminfo")) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			m.MemoryMiB = kib / 1024
		}
	}
	m.Kernel = strings.TrimSpace(read("/proc/sys/kernel/osrelease"))
	m.Load, _, _ = strings.Cut(read("/proc/loadavg"), " ")
	return m
}

// revision is the commit that is measured, marked when files differ from it.
func revision(ctx context.Context) string {
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	changes, late := changed(ctx)
	if errors.Join(err, late) != nil {
		return "unknown"
	}
	commit := strings.TrimSpace(string(head))
	if changes != "" {
		commit += "-dirty"
	}
	return commit
}

// The folder of the records of the project, and the page that is written from them.
const (
	recordsFolder = "test/benchmarks"
	recordsPage   = "docs/benchmarks.md"
)

// pageOf returns where the page of a folder of records is written.
func pageOf(out string) string {
	if out == recordsFolder {
		return recordsPage
	}
	return out + ".md"
}

// changed are the files that differ from the commit; the records of earlier
// runs are no part of what is measured.
func changed(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", ":/", ":(top,exclude)"+recordsFolder, ":(top,exclude)"+recordsPage).Output()
	return string(out), err
}

// recordable refuses to record what no commit holds, before anything is
// measured. A run without a name is only printed, so its tree may have changes.
func recordable(ctx context.Context, name string) error {
	changes, err := changed(ctx)
	switch {
	case name == "":
		return nil
	case err != nil:
		return fmt.Errorf("a record needs the commit, and git did not return it: %w", err)
	case changes != "":
		return fmt.Errorf("a record names the commit that was measured, but these files differ from it; commit them, or measure without recording (no --name; bench --unrecorded):\n%s", changes)
	}
	return nil
}
