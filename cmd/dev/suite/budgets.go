package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// referenceCalibration is that of the machine whose seconds budgets are given in.
const referenceCalibration = 31

// budget is a line of test/budgets.txt.
type budget struct {
	name       string
	seconds    float64 // on the machine of the reference
	apiServers int
	folders    []string // of whose tests it is; none while the part has none
	run        bool     // of a whole run, not of a part
}

// readBudgets reads "NAME CPU API-SERVERS FOLDERS WHAT" lines. A time in calibrations is of
// a run, one in seconds of a part.
func readBudgets(text string) ([]budget, error) {
	var all []budget
	n := 0
	for line := range strings.Lines(text) {
		n++
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) < 5 {
			return nil, fmt.Errorf("%s:%d: want NAME CPU API-SERVERS FOLDERS WHAT", budgetsFile, n)
		}
		number, run := strings.CutSuffix(f[1], "cal")
		cpu, err := strconv.ParseFloat(number, 64)
		servers, wrong := strconv.Atoi(f[2])
		if err := errors.Join(err, wrong); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", budgetsFile, n, err)
		}
		b := budget{name: f[0], seconds: cpu, apiServers: servers, run: run}
		if run {
			b.seconds *= referenceCalibration
		}
		if f[3] != "-" {
			b.folders = strings.Split(f[3], ",")
		}
		all = append(all, b)
	}
	return all, nil
}

// budgets prints what of the last run is above its budget.
func budgets() error {
	text, err := os.ReadFile(budgetsFile)
	if err != nil {
		return err
	}
	all, err := readBudgets(string(text))
	if err != nil {
		return err
	}
	r, err := readRecord()
	if errors.Is(err, os.ErrNotExist) {
		fmt.Printf("budgets: no run is recorded in %s: make test records one\n", recordFile)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", recordFile, err)
	}
	for _, line := range r.check(all) {
		fmt.Println("budgets: " + line)
	}
	return nil
}

// check compares a record with the budgets. Parts that have tests come on top of what a
// run may take.
func (r *record) check(all []budget) []string {
	scale, unit := 1.0, ""
	if r.Calibration != 0 {
		scale = referenceCalibration / r.Calibration
	} else {
		unit = " (this machine is not measured: suite calibrate)"
	}
	t := r.total()
	if t.Failed {
		return []string{fmt.Sprintf("the run of %s at %s failed, so that it measures nothing", r.Began.Format("2006-01-02 15:04"), r.Commit)}
	}
	var lines []string
	over := func(what string, cpu float64, servers int, b budget) {
		if cpu*scale > b.seconds {
			lines = append(lines, fmt.Sprintf("%s took %.0f CPU-s of the reference machine, its budget is %.0f%s", what, cpu*scale, b.seconds, unit))
		}
		if servers > b.apiServers {
			lines = append(lines, fmt.Sprintf("%s started %d API servers, its budget is %d", what, servers, b.apiServers))
		}
	}
	var parts budget
	for _, b := range all {
		if b.run || len(b.folders) == 0 {
			continue
		}
		parts.seconds, parts.apiServers = parts.seconds+b.seconds, parts.apiServers+b.apiServers
		cpu, servers := 0.0, 0
		for folder, u := range t.Folders {
			if slices.Contains(b.folders, folder) {
				cpu, servers = cpu+u.CPU, servers+u.APIServers
			}
		}
		over("part "+b.name, cpu, servers, b)
	}
	for _, b := range all {
		if b.run && b.name == r.Kind {
			b.seconds, b.apiServers = b.seconds+parts.seconds, b.apiServers+parts.apiServers
			over("the run as "+b.name, t.CPU, t.Programs[apiServer].Started, b)
		}
	}
	if len(lines) > 0 {
		return lines
	}
	within := fmt.Sprintf("the run of %s at %s is within them", r.Began.Format("2006-01-02 15:04"), r.Commit)
	if r.Kind == "" {
		within += "; AXLE_SUITE_RUN did not name the budget of a whole run"
	}
	return []string{within}
}
