package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/test/scale"
	"github.com/axle-cd/axle/test/scale/fleet"
	"github.com/axle-cd/axle/test/scale/hubproc"
)

// benchFleet is one run of the bench-fleet command.
type benchFleet struct {
	config  fleet.Config
	touch   string
	commits string
	page    bool
	measurement
	commit string // that is measured
}

func fleetCommand() *cobra.Command {
	var b benchFleet
	c := &cobra.Command{
		Use:   "bench-fleet",
		Short: "Measure a hub under a simulated fleet",
		Long: `Start real hub processes, and processes that simulate a fleet of agents over the
real protocol. Each cluster keeps one TLS connection, verifies every digest and
reports each change.`,
	}
	f := c.Flags()
	f.IntVar(&b.config.Clusters, "clusters", 1100, "number of clusters")
	f.IntVar(&b.config.Services, "services", 10, "number of services of each cluster")
	f.IntVar(&b.config.Replicas, "replicas", 1, "number of hub processes; more than one use Postgres")
	f.BoolVar(&b.config.Postgres, "postgres", false, "use Postgres for one hub as well")
	f.DurationVar(&b.config.Duration, "duration", 5*time.Minute, "length of the measured window")
	f.DurationVar(&b.config.Poll, "poll", 2*time.Minute, "time between two polls of a cluster, and of a repository")
	f.StringVar(&b.commits, "commits", "1m", "time between two commits; 0 makes no commits")
	f.StringVar(&b.touch, "touch", "1%", "share of the clusters that a commit touches")
	f.BoolVar(&b.config.All, "all", false, "after the window, change one service on all clusters")
	f.BoolVar(&b.config.Own, "own", false, "give each cluster a folder of its own; commits change these")
	f.BoolVar(&b.config.Tunnels, "tunnels", false, "give each cluster a tunnel; each commit arrives by webhook and hint")
	f.BoolVar(&b.config.Kill, "kill", false, "kill -9 one of several replicas in the middle of the window")
	f.StringVar(&b.config.HubProgram, "hub", "", "axle-hub binary to measure (default: built from this tree)")
	flagvalue.List(f, &b.config.HubFlags, "hub-flag", "one more flag for axle-hub; may be repeated")
	f.StringVar(&b.config.Dir, "dir", "", "folder in which data and logs are kept")
	f.BoolVar(&b.page, "page", false, "measure nothing; write the page from the records again")
	return b.measures(c, func(ctx context.Context) error {
		if b.page {
			return (&bench{out: b.out}).index()
		}
		return b.run(ctx)
	})
}

// fleetPlayerCommand is what bench-fleet starts.
func fleetPlayerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "fleet-player", Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return scale.Play(c.Context(), os.Stdin, os.Stdout) },
	}
}

func (b *benchFleet) run(ctx context.Context) (err error) {
	if err := recordable(ctx, b.name); err != nil {
		return err
	}
	if b.config.Touch, err = share(b.touch); err != nil {
		return err
	}
	if b.config.Commits, err = time.ParseDuration(b.commits); err != nil {
		return fmt.Errorf("--commits %q is not a duration such as 1m: %w", b.commits, err)
	}
	if b.config.Commits == 0 {
		b.config.Commits = -1
	}
	if err := b.longEnough(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b.config.Player, b.config.Progress = []string{self, "fleet-player"}, b.say
	b.commit = revision(ctx)
	found, err := fleet.Measure(ctx, b.config)
	if err != nil {
		return err
	}
	r := b.record(found)
	if b.name != "" {
		if err := errors.Join(r.write(filepath.Join(b.out, "fleet")), (&bench{out: b.out}).index()); err != nil {
			return err
		}
	}
	if err := r.print(); err != nil {
		return err
	}
	return lastLine(found)
}

// leastPolls and leastCommits are what a window holds at least that is
// recorded: with less, the rates are those of its ends.
const (
	leastPolls   = 2
	leastCommits = 5
)

// longEnough refuses to record a short window.
func (b *benchFleet) longEnough() error {
	c := b.config
	switch {
	case b.name == "":
	case c.Duration < leastPolls*c.Poll:
		return fmt.Errorf("--duration %s is less than %d times --poll %s; a recorded run must be at least that long", c.Duration, leastPolls, c.Poll)
	case c.Commits > 0 && c.Duration < leastCommits*c.Commits:
		return fmt.Errorf("--duration %s has room for fewer than %d commits, one every %s; a recorded run needs that many", c.Duration, leastCommits, c.Commits)
	}
	return nil
}

// share reads "1%" or "0.01".
func share(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	f, err := strconv.ParseFloat(number, 64)
	if percent {
		f /= 100
	}
	if err != nil || f <= 0 || f > 1 {
		return 0, fmt.Errorf("--touch %q is not a share such as 1%% or 0.01", text)
	}
	return f, nil
}

// fleetRecord is what is kept of one run.
type fleetRecord struct {
	Name    string        `json:"name"`
	Date    string        `json:"date"`
	Commit  string        `json:"commit"`
	Machine machine       `json:"machine"`
	Setting string        `json:"setting"`
	Result  *fleet.Result `json:"result"`
	// More is what the result's one line does not hold.
	More map[string]float64 `json:"more"`
	// Memory is the hub's in time since the agents start.
	Memory []hubproc.MemoryTime `json:"memory"`
	// Errors are some of them in words.
	Errors []string `json:"errors,omitempty"`
}

func (b *benchFleet) record(found *fleet.Result) *fleetRecord {
	database := "SQLite"
	if b.config.Replicas > 1 || b.config.Postgres {
		database = "Postgres"
	}
	setting := fmt.Sprintf("%s, poll %s, commit each %s on %s", database, b.config.Poll, b.config.Commits, b.touch)
	if b.config.Commits < 0 {
		setting = fmt.Sprintf("%s, poll %s, no commits", database, b.config.Poll)
	}
	if b.config.Own {
		setting += ", a folder of its own for each cluster"
	}
	if b.config.Tunnels {
		setting += ", tunnels"
	}
	if found.OwnedAgainSeconds > 0 {
		setting += ", one replica killed"
	}
	more := map[string]float64{"commits": float64(found.Commits), "deliveries": float64(found.Deliveries), "fleet_cores": found.FleetCores, "start_s": found.StartSeconds,
		"hub_heap_mb": found.HubHeapMB, "hub_stacks_mb": found.HubStacksMB, "hub_files": float64(found.HubFiles), "put_off": float64(found.PutOff)}
	if b.config.All {
		more["all_s"], more["all_cpu_s"], more["all_slowest_call_ms"] = found.AllSeconds, found.AllCPUSeconds, found.AllSlowestCallMillis
		more["all_spread_s"] = found.AllSpreadSeconds
	}
	if b.config.Tunnels {
		more["tunnels"], more["tunnel_bytes_per_hour"], more["tunnel_hints"] = float64(found.Tunnels), found.TunnelBytesPerHour, float64(found.TunnelHints)
	}
	if found.OwnedAgainSeconds > 0 {
		more["owned_again_s"] = found.OwnedAgainSeconds
	}
	return &fleetRecord{
		Name: b.name, Date: b.started.UTC().Format(time.RFC3339), Commit: b.commit, Machine: thisMachine(),
		Setting: setting, Result: found, More: more, Memory: found.Memory, Errors: found.ErrorTexts,
	}
}

func (r *fleetRecord) write(dir string) error { return writeRecord(dir, r.Name, r) }

// fleetBudget bounds a number of a run, for the two sizes that have budgets.
type fleetBudget struct {
	cores, memory float64
}

func (r *fleetRecord) budget() (fleetBudget, bool) {
	switch {
	case r.Result.Replicas > 1 && r.Result.Tunnels == 0: // compared with one on the same database
	case r.Result.Clusters <= 1100:
		return fleetBudget{0.3, 400}, r.Result.Services <= 10
	case r.Result.Clusters <= 10000:
		return fleetBudget{1, 1500}, r.Result.Services <= 10
	}
	return fleetBudget{}, false
}

func (r *fleetRecord) values() []value {
	f := r.Result
	all := []value{
		{What: "hub, cores", Value: f.HubCores},
		{What: "hub, largest memory", Value: f.HubRSSMB, Unit: "MB"},
		{What: "hub, memory at the end of the window", Value: f.HubRSSMBSteady, Unit: "MB"},
		{What: "start, CPU of the hub", Value: f.StartCPUSeconds, Unit: "s"},
		{What: "start, by the wall", Value: r.More["start_s"], Unit: "s"},
		{What: "database, cores", Value: f.DBCores},
		{What: "fleet, cores", Value: r.More["fleet_cores"]},
		{What: "polls", Value: float64(f.Polls)},
		most(value{What: "polls missed", Value: float64(f.PollsMissed)}, 0),
		{What: "polls not modified", Value: f.NotModifiedRatio, Budget: new(0.95), Floor: true},
		most(value{What: "sent by an agent for a poll that finds nothing, in TLS records", Value: f.BytesUpPerPoll, Unit: "B"}, 300),
		most(value{What: "received by an agent for a poll that finds nothing, in TLS records", Value: f.BytesDownPerPoll, Unit: "B"}, 200),
		{What: "commits", Value: r.More["commits"]},
		{What: "deliveries of these commits", Value: r.More["deliveries"]},
		{What: "commit to agent, p50", Value: f.CommitToAgentP50 / 1000, Unit: "s"},
		{What: "commit to agent, p99", Value: f.CommitToAgentP99 / 1000, Unit: "s"},
		{What: "ls-refs per interval and repository", Value: f.LsRefsPerInterval},
		{What: "upstream fetches", Value: float64(f.UpstreamFetches)},
		{What: "tarballs served", Value: float64(f.TarballsServed)},
		most(value{What: "digest mismatches", Value: float64(f.DigestMismatches)}, 0),
		{What: "feed lag, p99", Value: f.FeedLagP99Millis, Unit: "ms"},
		most(value{What: "errors", Value: float64(f.Errors)}, 0),
	}
	if b, ok := r.budget(); ok {
		all[0], all[1] = most(all[0], b.cores), most(all[1], b.memory)
	}
	if s := r.More["all_s"]; s > 0 {
		all = append(all, value{What: "a change on all clusters, until all have it", Value: s, Unit: "s"},
			value{What: "a change on all clusters, from the first to the last", Value: r.More["all_spread_s"], Unit: "s"},
			value{What: "a change on all clusters, CPU of the hub", Value: r.More["all_cpu_s"], Unit: "s"},
			value{What: "a change on all clusters, slowest call of a person during it", Value: r.More["all_slowest_call_ms"], Unit: "ms"})
	}
	if s := r.More["tunnels"]; s > 0 {
		all = append(all, value{What: "tunnels up", Value: s},
			value{What: "bytes of a tunnel per hour, both directions, in TLS records", Value: r.More["tunnel_bytes_per_hour"], Unit: "B"},
			value{What: "hints", Value: r.More["tunnel_hints"]})
	}
	if s := r.More["owned_again_s"]; s > 0 {
		all = append(all, most(value{What: "killed replica's repositories have owners again", Value: s, Unit: "s"}, 40))
	}
	return all
}

func (r *fleetRecord) print() error {
	fmt.Printf("\n%d clusters with %d services, %d replicas, %.0f s; %s; %d cores\n",
		r.Result.Clusters, r.Result.Services, r.Result.Replicas, r.Result.WindowSeconds, r.Setting, runtime.NumCPU())
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 3, ' ', 0)
	fmt.Fprintln(w, "MEASURED\tVALUE\tBUDGET\t")
	for _, v := range r.values() {
		fmt.Fprintf(w, "%s\t%s\t%s\t\n", v.What, v.number(), v.budget())
	}
	return w.Flush()
}
