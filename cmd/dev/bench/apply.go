package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/test/scale/apply"
)

// benchApply is one run of the bench-apply command.
type benchApply struct {
	config apply.Config
	alone  bool
	flux   bool
	measurement
}

func applyCommand() *cobra.Command {
	var b benchApply
	c := &cobra.Command{
		Use:   "bench-apply",
		Short: "Measure a real agent and Flux on the same API server",
		Long: `Run a real agent against a real API server. The agent installs services of 4
objects, idles, checks all services, upgrades one field of each service and
heals deleted objects. Then Flux's engine does the same on the same API server.
It is called as kustomize-controller calls it. With --flux-controllers, Flux's
whole controllers run as well.`,
		Example: `  dev bench-apply --services 100
  dev bench-apply --services 2000 --crds 250 --name 2000-crds
  dev bench-apply --chatty 200 --alone
  dev bench-apply --services 10 --flux-controllers`,
	}
	f := c.Flags()
	f.IntVar(&b.config.Services, "services", 500, "number of services, of 4 objects each")
	f.IntVar(&b.config.CRDs, "crds", 0, "number of custom resource definitions that nobody uses")
	f.IntVar(&b.config.Chatty, "chatty", 0, "number of custom resources whose status changes every 10 s while the agent idles")
	f.DurationVar(&b.config.Idle, "idle", time.Minute, "time for which the idle agent is measured")
	f.IntVar(&b.config.Passes, "passes", 1, "number of passes over all services with nothing to change; the median counts")
	f.BoolVar(&b.config.PassesOnly, "passes-only", false, "end after these passes: no upgrade, no deletions, no Flux")
	f.BoolVar(&b.config.PeerFirst, "flux-first", false, "run Flux before the agent")
	f.DurationVar(&b.config.Limit, "limit", 10*time.Minute, "time limit of each phase")
	f.BoolVar(&b.alone, "alone", false, "leave out Flux's engine")
	f.BoolVar(&b.flux, "flux-controllers", false, "also run Flux's source-controller and kustomize-controller; the first build takes some minutes")
	return b.measures(c, b.run)
}

func (b *benchApply) run(ctx context.Context) error {
	if err := recordable(ctx, b.name); err != nil {
		return err
	}
	b.config.Progress = b.say
	if !b.alone && !b.config.PassesOnly {
		peer, remove, err := buildPeer(ctx, "flux", b.say)
		if err != nil {
			return err
		}
		defer remove()
		b.config.Peer = peer
	}
	if b.flux && !b.config.PassesOnly {
		controllers, err := buildControllers(ctx, b.say)
		if err != nil {
			return err
		}
		b.config.Controllers = controllers
	}
	commit := revision(ctx)
	found, err := apply.Measure(ctx, b.config)
	if err != nil {
		return err
	}
	r := &applyRecord{
		Name: b.name, Date: b.started.UTC().Format(time.RFC3339), Commit: commit, Machine: thisMachine(),
		CRDs: b.config.CRDs, Chatty: b.config.Chatty, FluxFirst: b.config.PeerFirst, Result: found,
	}
	if b.name != "" {
		if err := errors.Join(r.write(filepath.Join(b.out, "apply")), (&bench{out: b.out}).index()); err != nil {
			return err
		}
	}
	if err := r.print(); err != nil {
		return err
	}
	return lastLine(found)
}

// applyRecord is what is kept of one run.
type applyRecord struct {
	Name    string  `json:"name"`
	Date    string  `json:"date"`
	Commit  string  `json:"commit"`
	Machine machine `json:"machine"`
	CRDs    int     `json:"crds"`
	Chatty  int     `json:"chatty"`
	// FluxFirst: it ran before the agent.
	FluxFirst bool         `json:"fluxFirst,omitempty"`
	Result    apply.Result `json:"result"`
}

func (r *applyRecord) write(dir string) error { return writeRecord(dir, r.Name, r) }

// values sets each number beside its budget and beside Flux's.
func (r *applyRecord) values() []value {
	a := r.Result
	if a.Flux != nil {
		// To the engine alone, a commit that changes no object is a pass.
		engine := *a.Flux
		engine.Rerender, a.Flux = engine.Noop, &engine
	}
	of := func(what, unit string, number func(*apply.Result) float64) value {
		v := value{What: what, Value: number(&a), Unit: unit}
		var beside []string
		for _, flux := range []struct {
			name   string
			result *apply.Result
		}{{"Flux's engine", a.Flux}, {"Flux's controllers", a.Controllers}} {
			if flux.result == nil || number(flux.result) == 0 {
				continue
			}
			theirs := number(flux.result)
			beside = append(beside, fmt.Sprintf("%s %s, %s of it", flux.name, decimal(theirs), decimal(v.Value/theirs)))
		}
		v.Reference = strings.Join(beside, "; ")
		return v
	}
	all := []value{
		most(of("install: requests per service", "", func(r *apply.Result) float64 { return r.Install.RequestsPerService }), 8),
		most(of("install: CPU per service, agent and render children", "s", func(r *apply.Result) float64 { return r.Install.CPUPerService }), 0.015),
		of("install: CPU of the API server", "s", func(r *apply.Result) float64 { return r.Install.APIServerCPU }),
		of("install: until all are healthy", "s", func(r *apply.Result) float64 { return r.Install.Wall }),
		of("pass over all, nothing to change: requests per service", "", func(r *apply.Result) float64 { return r.Noop.RequestsPerService }),
		of("pass over all, nothing to change: CPU per service", "s", func(r *apply.Result) float64 { return r.Noop.CPUPerService }),
		of("upgrade of a field: requests per service", "", func(r *apply.Result) float64 { return r.Upgrade.RequestsPerService }),
		of("upgrade of a field: CPU per service", "s", func(r *apply.Result) float64 { return r.Upgrade.CPUPerService }),
		of("upgrade of a field: until all are healthy", "s", func(r *apply.Result) float64 { return r.Upgrade.Wall }),
		of("rendered again by a comment, nothing to write: requests per service", "", func(r *apply.Result) float64 { return r.Rerender.RequestsPerService }),
		of("rendered again by a comment, nothing to write: CPU per service", "s", func(r *apply.Result) float64 { return r.Rerender.CPUPerService }),
		of("started again, nothing to write: requests per service", "", func(r *apply.Result) float64 { return r.Restart.RequestsPerService }),
		of("started again, nothing to write: CPU per service", "s", func(r *apply.Result) float64 { return r.Restart.CPUPerService }),
		most(of("idle: requests", "", func(r *apply.Result) float64 { return float64(r.Idle.Requests) }), 0),
		most(of("idle: cores", "", func(r *apply.Result) float64 { return r.Idle.Cores }), 0.01),
		most(of("heal of a deleted object, median", "ms", func(r *apply.Result) float64 { return r.HealMS }), 1000),
		most(of("agent's memory, idle", "MiB", func(r *apply.Result) float64 { return r.RSSIdle }), r.memory()),
		most(of("agent's memory, largest", "MiB", func(r *apply.Result) float64 { return r.RSSPeak }), r.memory()),
		of("render children's memory together, largest", "MiB", func(r *apply.Result) float64 { return r.ChildPeak }),
	}
	if a.Services == installServices && r.CRDs == 0 && r.Chatty == 0 {
		all[3] = most(all[3], 40)
	}
	return all
}

// order says who went first, where two ran.
func (r *applyRecord) order() string {
	switch {
	case r.Result.Flux == nil && r.Result.Controllers == nil:
		return ""
	case r.FluxFirst:
		return ", Flux first"
	}
	return ", the agent first"
}

// memory is the agent's budget: that of 2,000 objects, larger for chatty ones,
// and there is no budget for more.
func (r *applyRecord) memory() float64 {
	switch {
	case r.Chatty > 0:
		return 128
	case r.Result.Services > installServices:
		return 512
	}
	return 112
}

func (r *applyRecord) print() error {
	fmt.Printf("\n%d services of 4 objects, %d unused CRDs, %d chatty resources\n", r.Result.Services, r.CRDs, r.Chatty)
	return printValues(r.values(), "BESIDE")
}

// applyPage writes the tables of all recorded runs.
func applyPage(page *bytes.Buffer, out string) error {
	records, err := readRecords[applyRecord](filepath.Join(out, "apply"))
	if err != nil || len(records) == 0 {
		return err
	}
	page.WriteString(`
## apply

Measured by ` + "`make bench-apply`" + `. A real agent runs on a real API server; its numbers
include its render children. Then Flux's engine (fluxcd/pkg/ssa 0.78) runs on the
same API server in the same run, called as kustomize-controller 1.10 calls it.
The engine's numbers leave out Flux's fetching, building, status and inventory, so
all of Flux costs more. Our upgrade begins when the Git host delivers its webhook,
so it includes the hub's fetch and the hint through the tunnel. The engine's
upgrade begins with the manifests on disk.
Each record says which of the two ran first. The second one meets an API server
that holds the objects of the first.

"Flux's controllers" are source-controller 1.8.0 and kustomize-controller 1.7.3 with
their default flags. Their numbers are those of both processes together. They get
the same services from the same Git server: one GitRepository (interval 1 min) and
one Kustomization per service (interval 10 min, without ` + "`wait`" + `). They are done when every
Kustomization has applied the commit; ours is done when every service is healthy.
Their upgrade begins with the annotation that a Flux receiver would set for the
webhook. Their idle time falls between two intervals, so it contains no pass over
the Kustomizations: in production, a pass comes every 10 minutes on top.
With 100 services, our idle minute begins 25 s after the agent's start. It contains the
last of the four times that a started agent reads what the API server serves: 3 requests.

Not shown: charts, because helm-controller does not run; notification-controller;
the installation of Flux itself; Flux's leader election, which is off; an API server
with other users, or without the GOGC=200 that those of the test bed have since
2026-11-30; healing in Flux, which happens at its interval. When a person asks
for a pass, ours neither writes nor renders, because nothing can have changed.
Compare Flux's pass with the rows "rendered again" and "started again".
`)
	for _, r := range records {
		m := r.Machine
		fmt.Fprintf(page, "\n### %s\n\n%d services of 4 objects, %d unused CRDs, %d chatty resources%s; %s, commit %.12s; %s, %d cores, load %s.\n\n| measured | value | budget | beside |\n|---|---|---|---|\n",
			r.Name, r.Result.Services, r.CRDs, r.Chatty, r.order(), r.Date, r.Commit, m.CPU, m.Cores, m.Load)
		for _, v := range r.values() {
			fmt.Fprintf(page, "| %s | %s | %s | %s |\n", v.What, strings.TrimSpace(v.number()), v.budget(), v.Reference)
		}
	}
	return nil
}
