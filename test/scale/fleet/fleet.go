package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/scale"
	"github.com/axle-cd/axle/test/scale/hubproc"
	"github.com/axle-cd/axle/test/scale/people"
)

// Config says what Measure measures. Zero is the default of
// each.
type Config struct {
	// Clusters, and Services of each; 1,100 and 10.
	Clusters, Services int
	// Replicas of the hub; 1. One alone is on SQLite unless Postgres is set.
	Replicas int
	Postgres bool
	// Duration of the window and Poll between two polls of a cluster, and of a
	// repository; 300 s and 120 s.
	Duration, Poll time.Duration
	// Commits is the time between two commits, 1 min; negative is none.
	Commits time.Duration
	// Touch is the share of the clusters that each commit touches; 0.01.
	Touch float64
	// All measures, after the window, a change of one service on all clusters.
	All bool
	// Own gives each cluster a folder of its own, and lets commits change those: no
	// tarball is made for two.
	Own bool
	// Tunnels gives each cluster a tunnel, and each push a webhook's kick.
	Tunnels bool
	// Kill ends one of several replicas in the middle of the window.
	Kill bool
	// HubProgram is the axle-hub to measure; empty builds this tree's.
	HubProgram string
	// HubFlags are more flags of it.
	HubFlags []string
	// Player is the command that runs scale.Play.
	Player []string
	// Dir keeps data and logs; empty is a temporary folder.
	Dir string
	// Beside, if set, runs from the begin of the agents to the end of the window. Its
	// error is that of Measure.
	Beside   func(ctx context.Context, hubs *hubproc.Replicas) error
	Progress func(format string, args ...any)
}

// Result is what was measured. The fields with a name in JSON are the
// benchmark's last line.
type Result struct {
	Clusters        int     `json:"clusters"`
	Services        int     `json:"services"`
	Replicas        int     `json:"replicas"`
	WindowSeconds   float64 `json:"window_s"`
	StartCPUSeconds float64 `json:"start_cpu_s"`
	HubCores        float64 `json:"hub_cores"`
	// HubRSSMB is the most since the agents start, HubRSSMBSteady the median of
	// the window's last half minute.
	HubRSSMB             float64 `json:"hub_rss_mb"`
	HubRSSMBSteady       float64 `json:"hub_rss_mb_steady"`
	DBCores              float64 `json:"db_cores"`
	Polls                int64   `json:"polls"`
	PollsMissed          int64   `json:"polls_missed"`
	NotModifiedRatio     float64 `json:"not_modified_ratio"`
	BytesUpPerPoll       float64 `json:"bytes_up_per_poll"`
	BytesDownPerPoll     float64 `json:"bytes_down_per_poll"`
	CommitToAgentP50     float64 `json:"commit_to_agent_p50_ms"`
	CommitToAgentP99     float64 `json:"commit_to_agent_p99_ms"`
	LsRefsPerInterval    float64 `json:"upstream_lsrefs_per_interval"`
	UpstreamFetches      int     `json:"upstream_fetches"`
	TarballsServed       int64   `json:"tarballs_served"`
	DigestMismatches     int64   `json:"digest_mismatches"`
	FeedLagP99Millis     float64 `json:"feed_lag_p99_ms"`
	Errors               int64   `json:"errors"`
	Commits, Deliveries  int     `json:"-"` // of the window, and those that were seen
	FleetCores           float64 `json:"-"`
	StartSeconds         float64 `json:"-"`
	AllSeconds           float64 `json:"-"` // of the change on all clusters
	AllSpreadSeconds     float64 `json:"-"` // from the first that had it
	AllCPUSeconds        float64 `json:"-"`
	AllSlowestCallMillis float64 `json:"-"`
	OwnedAgainSeconds    float64 `json:"-"` // after the kill
	// Of tunnels: how many were up at the end, the bytes of an idle one both
	// ways, and the hints heard.
	Tunnels            int64   `json:"tunnels,omitempty"`
	TunnelBytesPerHour float64 `json:"tunnel_bytes_per_hour,omitempty"`
	TunnelHints        int64   `json:"tunnel_hints,omitempty"`
	// Of the hub at the window's end: live heap with what waits for the
	// collector, stacks, and the open files of the replica with most.
	HubHeapMB, HubStacksMB float64 `json:"-"`
	HubFiles               int     `json:"-"`
	// PutOff are answers of the hub that asked an agent to come again later,
	// since the hubs began.
	PutOff int64                `json:"-"`
	Memory []hubproc.MemoryTime `json:"-"`
	// ErrorTexts are some of Errors in words.
	ErrorTexts []string `json:"-"`
}

func (c Config) withDefaults() Config {
	def := func(n *int, d int) {
		if *n == 0 {
			*n = d
		}
	}
	during := func(n *time.Duration, d time.Duration) {
		if *n == 0 {
			*n = d
		}
	}
	def(&c.Clusters, 1100)
	def(&c.Services, 10)
	def(&c.Replicas, 1)
	during(&c.Duration, 5*time.Minute)
	during(&c.Poll, 2*time.Minute)
	during(&c.Commits, time.Minute)
	if c.Touch == 0 {
		c.Touch = 0.01
	}
	if c.Progress == nil {
		c.Progress = func(string, ...any) {}
	}
	return c
}

// benching is one run.
type benching struct {
	Config
	plan    plan
	git     *gitserver.Server
	hubs    *hubproc.Replicas
	people  *people.People
	players *scale.Players
	changes [benchRepositories]int
	pushes  []push
	commits int
	began   time.Time          // when the agents started
	owned   chan time.Duration // sent to once, after a kill
	result  Result
}

// push is a commit whose content clusters wait for.
type push struct {
	digest string
	at     time.Time
	wanted int
}

// Measure runs the hub, a Git server and a fleet, and measures. Anything that
// was not as it should be counts in Errors; an error means that nothing was
// measured.
func Measure(ctx context.Context, cfg Config) (_ *Result, err error) {
	b := &benching{Config: cfg.withDefaults(), owned: make(chan time.Duration, 1)}
	if b.plan, err = newPlan(b.Clusters, b.Services, b.Touch, b.All, b.Own); err != nil {
		return nil, err
	}
	if b.Dir == "" {
		if b.Dir, err = os.MkdirTemp("", "axle-bench-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(b.Dir)) }()
	}
	defer func() { err = errors.Join(err, b.close()) }()
	for _, step := range []func(context.Context) error{b.prepare, b.beside(b.begin, b.window), b.deliver, b.changeAll} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return &b.result, b.judge(ctx)
}

func (b *benching) close() error {
	var errs []error
	if b.players != nil {
		errs = append(errs, b.players.Close())
	}
	if b.hubs != nil {
		errs = append(errs, b.hubs.Close())
	}
	if b.git != nil {
		errs = append(errs, b.git.Close())
	}
	return errors.Join(errs...)
}

// prepare starts everything and fills the hub: repositories, registered
// clusters, and services whose content is there.
func (b *benching) prepare(ctx context.Context) (err error) {
	if b.HubProgram == "" {
		if b.HubProgram, err = bin.Path(ctx, "axle-hub", bin.Options{}); err != nil {
			return err
		}
	}
	gitDir := filepath.Join(b.Dir, "git")
	if err := os.MkdirAll(gitDir, 0o700); err != nil {
		return err
	}
	if b.git, err = gitserver.Start(ctx, gitserver.Config{Dir: gitDir}); err != nil {
		return err
	}
	if err := b.repositories(ctx); err != nil {
		return err
	}
	b.hubs, err = hubproc.Start(ctx, hubproc.Config{
		Dir: b.Dir, Program: b.HubProgram, Replicas: b.Replicas, Postgres: b.Postgres, Flags: append([]string{"--repo-poll-interval", b.Poll.String()}, b.HubFlags...),
	})
	if err != nil {
		return err
	}
	b.Progress("%d replicas run: %v", b.Replicas, b.hubs.Addresses())
	if b.people, err = people.SetUp(ctx, people.Hub{URL: b.hubs.URL(), CAPEM: b.hubs.CA(), Web: b.hubs.Web()}, b.hubs.SetupTokenFile()); err != nil {
		return err
	}
	if err := b.addRepositories(ctx); err != nil {
		return err
	}
	b.players, err = scale.StartPlayers(ctx, b.Player, scale.PlayerConfig{
		URL: b.hubs.URL(), CAPEM: b.hubs.CA(), Addresses: b.hubs.Addresses(),
		Count: b.Clusters, Interval: b.Poll, Spread: b.spread(), Tunnels: b.Tunnels,
	}, b.people.Bootstrap, b.Progress)
	if err != nil {
		return err
	}
	b.Progress("%d clusters are registered", b.Clusters)
	if err := b.declareServices(ctx); err != nil {
		return err
	}
	b.Progress("%d services are declared and have content; the hubs took %.1f CPU-s and at most %.0f MB so far", b.Clusters*b.Services, b.hubs.Usage().Seconds(), b.hubs.Forget())
	return nil
}

// repositories makes those of the plan.
func (b *benching) repositories(ctx context.Context) error {
	for r := range benchRepositories {
		files := map[string]string{}
		for f := range b.plan.folders() {
			at := place{r, f}
			for name, text := range at.files(0) {
				files[at.path()+"/"+name] = text
			}
		}
		repo := place{repository: r}.repo()
		if err := b.git.Create(ctx, repo); err != nil {
			return err
		}
		if _, err := b.git.Commit(ctx, repo, "main", "begin", files); err != nil {
			return err
		}
	}
	b.Progress("%d repositories of %d folders are made", benchRepositories, b.plan.folders())
	return nil
}

// startEach is what the start of one agent takes of a machine that hub, fleet
// and database share, with some room: a fleet that starts faster than that
// measures the machine.
const startEach = 24 * time.Millisecond

// spread is the time over which agents start: at most two poll intervals, for
// very many.
func (b *benching) spread() time.Duration {
	return min(2*b.Poll, time.Duration(b.Clusters)*startEach)
}

// begin lets the agents connect, and waits until each has all of its services,
// and one poll interval more.
func (b *benching) begin(ctx context.Context) error {
	// What preparing took of memory is given back first.
	if err := b.pause(ctx, min(b.Poll, 30*time.Second)); err != nil {
		return err
	}
	b.Progress("before the agents start the hubs hold %.0f MB", b.hubs.Forget())
	before, began := b.hubs.Usage(), time.Now()
	b.began = began
	if err := b.players.Start(); err != nil {
		return err
	}
	next := time.Now().Add(10 * time.Second)
	for {
		if err := b.pause(ctx, time.Second); err != nil {
			return err
		}
		s, err := b.players.Stats(ctx)
		if err != nil {
			return err
		}
		if s.Settled == int64(b.Clusters) {
			break
		}
		if time.Now().After(next) {
			next = time.Now().Add(10 * time.Second)
			b.Progress("%d clusters connected and have their services, %d tarballs taken; hubs %.1f CPU-s, fleet %.1f",
				s.Settled, s.Tarballs, (b.hubs.Usage() - before).Seconds(), float64(s.CPUMicros)/1e6)
		}
	}
	b.result.StartCPUSeconds = (b.hubs.Usage() - before).Seconds()
	b.result.StartSeconds = time.Since(began).Seconds()
	b.Progress("all clusters have their services after %.0f s, %.1f CPU-s of the hubs; the window begins in %s", b.result.StartSeconds, b.result.StartCPUSeconds, b.Poll)
	return b.pause(ctx, b.Poll)
}

// pause waits, and ends early when a replica ended.
func (b *benching) pause(ctx context.Context, d time.Duration) error {
	for end := time.Now().Add(d); ; {
		if err := b.hubs.Alive(); err != nil {
			return err
		}
		left := time.Until(end)
		if left <= 0 {
			return nil
		}
		select {
		case <-time.After(min(left, time.Second)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// commit pushes a change of what the plan says.
func (b *benching) commit(ctx context.Context) error {
	places, wanted := b.plan.changed(b.commits)
	b.commits++
	return b.push(ctx, places, wanted)
}

// push changes folders of one repository, each of which so many clusters want.
func (b *benching) push(ctx context.Context, places []place, wanted int) error {
	repository := places[0].repository
	b.changes[repository]++
	change := b.changes[repository]
	files := map[string]string{}
	var pushes []push
	for _, at := range places {
		digest, err := at.digest(change)
		if err != nil {
			return err
		}
		maps.Copy(files, at.changed(change))
		pushes = append(pushes, push{digest.String(), time.Time{}, wanted})
	}
	repo := places[0].repo()
	if _, err := b.git.Commit(ctx, repo, "main", fmt.Sprintf("change %d of %s", change, places[0].path()), files); err != nil {
		return err
	}
	for _, p := range pushes {
		p.at = time.Now()
		b.pushes = append(b.pushes, p)
	}
	if b.Tunnels {
		return b.people.Push(ctx, repo)
	}
	return nil
}

// took is how long after a push each cluster had its content.
func (b *benching) took(p push) []time.Duration {
	var list []time.Duration
	for _, at := range b.players.Deliveries(p.digest) {
		list = append(list, at.Sub(p.at))
	}
	slices.Sort(list)
	return list
}

// deliver waits, after the window, until each commit of it is everywhere, at
// most two intervals of polling with all jitter and some seconds.
func (b *benching) deliver(ctx context.Context) error {
	wanted := 0
	for _, p := range b.pushes {
		wanted += p.wanted
	}
	var all []time.Duration
	for end := time.Now().Add(b.Poll*11/4 + 15*time.Second); ; {
		all = all[:0]
		for _, p := range b.pushes {
			all = append(all, b.took(p)...)
		}
		if len(all) >= wanted || time.Now().After(end) {
			break
		}
		if err := b.pause(ctx, time.Second); err != nil {
			return err
		}
	}
	b.Progress("%d of %d deliveries of %d commits are made", len(all), wanted, b.commits)
	if missing := wanted - len(all); missing != 0 {
		b.complain(int64(max(missing, -missing)), "%d deliveries, %d were wanted", len(all), wanted)
	}
	slices.Sort(all)
	b.result.CommitToAgentP50, b.result.CommitToAgentP99 = quantile(all, 0.5), quantile(all, 0.99)
	b.result.Commits, b.result.Deliveries = b.commits, len(all)
	return nil
}

// quantile of sorted times in milliseconds; zero when there are none.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := min(int(q*float64(len(sorted))), len(sorted)-1)
	return float64(sorted[at].Microseconds()) / 1000
}

func (b *benching) complain(n int64, format string, args ...any) {
	b.result.Errors += n
	text := fmt.Sprintf(format, args...)
	b.result.ErrorTexts = append(b.result.ErrorTexts, text)
	b.Progress("not as it should be: %s", text)
}

// changeAll changes the service that all clusters have.
func (b *benching) changeAll(ctx context.Context) error {
	if !b.All {
		return nil
	}
	before := b.hubs.Usage()
	if err := b.push(ctx, []place{allPlace}, b.Clusters); err != nil {
		return err
	}
	p := b.pushes[len(b.pushes)-1]
	next := time.Now().Add(10 * time.Second)
	for end := time.Now().Add(b.Poll*11/4 + 2*time.Minute); ; {
		began := time.Now()
		if err := b.ask(ctx); err != nil {
			b.complain(1, "while all change: %v", err)
		}
		b.result.AllSlowestCallMillis = max(b.result.AllSlowestCallMillis, float64(time.Since(began).Microseconds())/1000)
		all := b.took(p)
		if len(all) >= b.Clusters {
			b.result.AllSeconds = all[len(all)-1].Seconds()
			b.result.AllSpreadSeconds = (all[len(all)-1] - all[0]).Seconds()
			break
		}
		if time.Now().After(end) {
			b.complain(int64(b.Clusters-len(all)), "%d of %d clusters have the change that is for all", len(all), b.Clusters)
			break
		}
		if time.Now().After(next) {
			next = time.Now().Add(10 * time.Second)
			b.Progress("%d of %d clusters have the change that is for all", len(all), b.Clusters)
		}
		if err := b.pause(ctx, time.Second); err != nil {
			return err
		}
	}
	b.result.AllCPUSeconds = (b.hubs.Usage() - before).Seconds()
	b.Progress("the change on all clusters took %.0f s, %.1f CPU-s of the hubs", b.result.AllSeconds, b.result.AllCPUSeconds)
	return nil
}

// judge counts what the fleet met.
func (b *benching) judge(ctx context.Context) error {
	s, err := b.players.Stats(ctx)
	if err != nil {
		return err
	}
	select {
	case took := <-b.owned:
		b.result.OwnedAgainSeconds = took.Seconds()
		b.Progress("the killed replica's repositories had owners again after %.1f s", took.Seconds())
	default:
	}
	b.result.LsRefsPerInterval = b.lsRefsPerInterval(b.began)
	b.result.DigestMismatches = s.Mismatches
	b.result.Errors += s.Errors
	b.result.PutOff = s.PutOff
	b.result.ErrorTexts = append(b.result.ErrorTexts, b.players.Errors()...)
	return nil
}
