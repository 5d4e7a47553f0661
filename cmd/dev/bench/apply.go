package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/test/scale/apply"
)

// benchApply is one run of the bench-apply command.
type benchApply struct {
	config apply.Config
	out    string
	name   string
	alone  bool
	progress
}

func applyCommand() *cobra.Command {
	var b benchApply
	c := &cobra.Command{
		Use:   "bench-apply",
		Short: "Measure a real agent beside Flux's engine",
		Long: `Let a real agent install services of 4 objects on a real API server, idle, pass
over all, upgrade one field of each and heal deleted objects; then let Flux's
engine, driven as kustomize-controller drives it, do the same on the same API
server. Prints a table and, as its last line, one JSON object. With --name the
result is recorded.`,
		Example: `  dev bench-apply --services 100
  dev bench-apply --services 2000 --crds 250 --name 2000-crds
  dev bench-apply --chatty 200 --alone`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			b.started = time.Now()
			return b.run(c.Context())
		},
	}
	f := c.Flags()
	f.IntVar(&b.config.Services, "services", 500, "services of 4 objects")
	f.IntVar(&b.config.CRDs, "crds", 0, "custom resource definitions that nobody uses")
	f.IntVar(&b.config.Chatty, "chatty", 0, "custom resources among the objects whose status changes each 10 s while the agent idles")
	f.DurationVar(&b.config.Idle, "idle", time.Minute, "how long the idle agent is watched")
	f.IntVar(&b.config.Passes, "passes", 1, "passes over all services with nothing to change; the median counts")
	f.BoolVar(&b.config.PassesOnly, "passes-only", false, "end after them: no upgrade, no deletions, no Flux")
	f.BoolVar(&b.config.PeerFirst, "flux-first", false, "Flux's engine before the agent")
	f.DurationVar(&b.config.Limit, "limit", 10*time.Minute, "bound of each phase")
	f.BoolVar(&b.alone, "alone", false, "without Flux's engine")
	f.StringVar(&b.name, "name", "", "record the result under this name")
	f.StringVar(&b.out, "out", filepath.Join("docs", "benchmarks"), "folder of the records")
	return c
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

// buildPeer builds what we are measured beside, which is a module of its own so
// that the product links none of it.
func buildPeer(ctx context.Context, name string, say func(string, ...any)) (program string, remove func(), err error) {
	say("building test/peers/%s (some minutes the first time)", name)
	dir, err := os.MkdirTemp("", "axle-peer-")
	if err != nil {
		return "", nil, err
	}
	program = filepath.Join(dir, name)
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	build.Dir = filepath.Join("test", "peers", name)
	if out, err := build.CombinedOutput(); err != nil {
		return "", nil, errors.Join(fmt.Errorf("build %s: %w\n%s", build.Dir, err, out), os.RemoveAll(dir))
	}
	return program, func() { _ = os.RemoveAll(dir) }, nil
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
	a, flux := r.Result, r.Result.Flux
	if flux == nil {
		flux = &apply.Result{}
	}
	beside := func(ours, theirs float64) string {
		if r.Result.Flux == nil || theirs == 0 {
			return ""
		}
		return fmt.Sprintf("Flux's engine %s, %s of it", decimal(theirs), decimal(ours/theirs))
	}
	of := func(what, unit string, ours, theirs float64) value {
		return value{What: what, Value: ours, Unit: unit, Reference: beside(ours, theirs)}
	}
	all := []value{
		most(of("install: requests a service", "", a.Install.RequestsPerService, flux.Install.RequestsPerService), 8),
		most(of("install: CPU a service, agent and render children", "s", a.Install.CPUPerService, flux.Install.CPUPerService), 0.015),
		of("install: CPU of the API server", "s", a.Install.APIServerCPU, flux.Install.APIServerCPU),
		of("install: until all are healthy", "s", a.Install.Wall, flux.Install.Wall),
		of("pass over all, nothing to change: requests a service", "", a.Noop.RequestsPerService, flux.Noop.RequestsPerService),
		of("pass over all, nothing to change: CPU a service", "s", a.Noop.CPUPerService, flux.Noop.CPUPerService),
		of("upgrade of a field: requests a service", "", a.Upgrade.RequestsPerService, flux.Upgrade.RequestsPerService),
		of("upgrade of a field: CPU a service", "s", a.Upgrade.CPUPerService, flux.Upgrade.CPUPerService),
		of("upgrade of a field: until all are healthy", "s", a.Upgrade.Wall, flux.Upgrade.Wall),
		of("rendered again by a comment, nothing to write: requests a service", "", a.Rerender.RequestsPerService, flux.Noop.RequestsPerService),
		of("rendered again by a comment, nothing to write: CPU a service", "s", a.Rerender.CPUPerService, flux.Noop.CPUPerService),
		of("started again, nothing to write: requests a service", "", a.Restart.RequestsPerService, flux.Restart.RequestsPerService),
		of("started again, nothing to write: CPU a service", "s", a.Restart.CPUPerService, flux.Restart.CPUPerService),
		most(value{What: "idle: requests", Value: float64(a.Idle.Requests)}, 0),
		most(value{What: "idle: cores", Value: a.Idle.Cores}, 0.01),
		most(of("heal of a deleted object, median", "ms", a.HealMS, 0), 1000),
		most(of("agent's memory, idle", "MiB", a.RSSIdle, flux.RSSIdle), r.memory()),
		most(of("agent's memory, largest", "MiB", a.RSSPeak, flux.RSSPeak), r.memory()),
		of("render children's memory together, largest", "MiB", a.ChildPeak, 0),
	}
	if a.Services == installServices && r.CRDs == 0 && r.Chatty == 0 {
		all[3] = most(all[3], 40)
	}
	return all
}

// order says who went first, where two ran.
func (r *applyRecord) order() string {
	switch {
	case r.Result.Flux == nil:
		return ""
	case r.FluxFirst:
		return ", Flux's engine first"
	}
	return ", the agent first"
}

// memory is the agent's budget: that of 2,000 objects, larger for chatty ones,
// and none is promised for more.
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
func applyPage(page *bytes.Buffer, dir string) error {
	records, err := readRecords[applyRecord](dir)
	if err != nil || len(records) == 0 {
		return err
	}
	page.WriteString(`
## apply

Measured by ` + "`make bench-apply`" + `: a real agent, its render children counted with it, on
a real API server, and then Flux's engine (fluxcd/pkg/ssa 0.78) driven as
kustomize-controller 1.10 drives it on the same API server, in the same run.
Flux's fetching, building, status and inventory are left out, so that it costs
more than this. An upgrade of ours begins when the Git host delivers its webhook,
and so holds the hub's fetch and the hint through the tunnel; Flux's begins with
the manifests on disk.
A record says which of the two went first: the second meets an API server that
holds the objects of the first.

Not shown: whole Flux controllers, which would need its source controller and a
build, and cost more than the engine; charts; an API server with other users; a
heal in Flux, which looks at its interval. A pass by a person's request writes and
renders nothing with us, since nothing can have changed; the rows "rendered again"
and "started again" are those to compare with Flux's pass.
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
