package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/scale"
	"github.com/axle-cd/axle/test/scale/people"
	"github.com/axle-cd/axle/test/world"
)

const (
	// pushesEach is how many pushes of one repository the hub follows at once;
	// more wait for its pace towards upstream, which is not what is measured.
	pushesEach = 4
	// pushGap is how long a repository is left alone between two of them.
	pushGap = 5500 * time.Millisecond
	// pushWithin bounds the wait for one push.
	pushWithin = time.Minute
)

// Config says what Measure measures.
type Config struct {
	// Clusters have a real API server and a real agent; zero is 3.
	Clusters int
	// Agents are played beside them and follow the same repositories.
	Agents int
	// Pushes are timed; zero is 100.
	Pushes int
	// Player is the command that runs scale.Play, for Agents.
	Player   []string
	Progress func(format string, args ...any)
}

// Result is how long pushes took from the delivery of the webhook, in seconds.
type Result struct {
	Clusters     int `json:"clusters"`
	Agents       int `json:"agents"`
	Repositories int `json:"repositories"`
	// Applied is until an API server sends the change to its watchers, and All
	// until the last of them does.
	Applied Spread `json:"applied_s"`
	All     Spread `json:"applied_everywhere_s"`
	// Played is until a played agent has verified the content; nil without any.
	Played *Spread `json:"played_s,omitempty"`
}

// Spread is what many times were.
type Spread struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

func spreadOf(seconds []float64) Spread {
	if len(seconds) == 0 {
		return Spread{}
	}
	return Spread{len(seconds), percentile(seconds, 50), percentile(seconds, 99), percentile(seconds, 100)}
}

func percentile(values []float64, p int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

// pushBench is one run.
type pushBench struct {
	Config
	w       *world.World
	names   []string // of the clusters
	repos   []string
	people  *people.People
	players *scale.Players
	words   *words
	result  Result
}

// Measure starts clusters, a hub and a Git server that nobody polls, pushes to it
// and calls the hub's webhook: what arrives came by hints.
func Measure(ctx context.Context, c Config) (_ Result, err error) {
	c.Clusters, c.Pushes = cmp.Or(c.Clusters, 3), cmp.Or(c.Pushes, 100)
	if c.Progress == nil {
		c.Progress = func(string, ...any) {}
	}
	b := &pushBench{Config: c}
	for n := range c.Clusters {
		b.names = append(b.names, fmt.Sprintf("real-%d", n+1))
	}
	for n := range (c.Pushes + pushesEach - 1) / pushesEach {
		b.repos = append(b.repos, fmt.Sprintf("fleet-%02d", n+1))
	}
	b.result.Clusters, b.result.Agents, b.result.Repositories = c.Clusters, c.Agents, len(b.repos)
	b.Progress("%d API servers, a hub and a Git server start", c.Clusters)
	if b.w, err = world.Start(ctx, world.Config{Clusters: b.names, TLS: true, Hub: []string{"--repo-poll-interval", "1h", "--log-level", "warn"}}); err != nil {
		return b.result, err
	}
	defer func() { err = errors.Join(err, b.w.Close()) }()
	defer func() {
		if b.words != nil {
			b.words.stop()
		}
		if b.players != nil {
			err = errors.Join(err, b.players.Close())
		}
	}()
	for _, step := range []func(context.Context) error{b.logIn, b.connect, b.declare, b.play, b.measure} {
		if err := step(ctx); err != nil {
			return b.result, err
		}
	}
	return b.result, nil
}

func (b *pushBench) logIn(ctx context.Context) error {
	if err := b.w.Login(ctx); err != nil {
		return err
	}
	made, err := b.w.Axle(ctx, "tokens", "create", "bench", "--scope", "admin")
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(b.w.Hub.CA)
	if err != nil {
		return err
	}
	web, err := b.w.Hub.Client()
	if err != nil {
		return err
	}
	b.people, err = people.New(people.Hub{URL: b.w.Hub.URL, CAPEM: ca, Web: web}, strings.TrimSpace(made.Out))
	return err
}

// connect starts the agents and watches their API servers.
func (b *pushBench) connect(ctx context.Context) (err error) {
	if b.words, err = watchWords(ctx, b.w); err != nil {
		return err
	}
	for _, name := range b.names {
		if _, err := b.w.ConnectProcess(ctx, name, world.AgentOptions{Flags: []string{"--poll-interval", "1h"}}); err != nil {
			return err
		}
	}
	for _, name := range b.names {
		err := eventually.Wait(ctx, people.Settled, func() error {
			got, err := b.people.API.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: name}))
			if err == nil && got.Msg.GetTunnel() != "Up" {
				err = fmt.Errorf("the tunnel of %s is %s", name, got.Msg.GetTunnel())
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// folder is what all repositories hold: two objects, one of which says the
// word.
func (b *pushBench) folder(repo, word string) map[string]string {
	return map[string]string{
		"one.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\ndata:\n  word: " + strconv.Quote(word) + "\n",
		"two.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: two\ndata:\n  repository: " + repo + "\n",
	}
}

func (b *pushBench) commit(ctx context.Context, repo, word string) error {
	files := map[string]string{}
	for name, text := range b.folder(repo, word) {
		files["app/"+name] = text
	}
	_, err := b.w.Git.Commit(ctx, repo, "main", "say "+word, files)
	return err
}

// declare makes the repositories, with a service of each on every cluster.
func (b *pushBench) declare(ctx context.Context) error {
	b.Progress("%d repositories, a service of each on every cluster", len(b.repos))
	for _, repo := range b.repos {
		if err := b.w.Git.Create(ctx, repo); err != nil {
			return err
		}
		if err := b.commit(ctx, repo, repo+" 0"); err != nil {
			return err
		}
		if err := b.people.AddRepository(ctx, repo, b.w.Git.URL(repo)); err != nil {
			return err
		}
		for _, cluster := range b.names {
			if err := b.people.Service(ctx, cluster, repo, repo, "main", "app"); err != nil {
				return err
			}
		}
	}
	for _, repo := range b.repos {
		if _, err := b.words.await(ctx, repo+" 0", len(b.names), people.Settled); err != nil {
			return err
		}
	}
	return nil
}

// play lets played agents register, take all content and open their tunnels.
func (b *pushBench) play(ctx context.Context) error {
	if b.Agents == 0 {
		return nil
	}
	b.Progress("%d played agents come", b.Agents)
	var err error
	b.players, err = scale.StartPlayers(ctx, b.Player, scale.PlayerConfig{
		URL: b.w.Hub.URL, CAPEM: b.people.Hub.CAPEM, Count: b.Agents, Interval: time.Hour, Spread: time.Second, Tunnels: true,
	}, b.people.Bootstrap, b.Progress)
	if err != nil {
		return err
	}
	for n := range b.Agents {
		for _, repo := range b.repos {
			if err := b.people.Service(ctx, scale.PlayedName(n), repo, repo, "main", "app"); err != nil {
				return err
			}
		}
	}
	if err := b.players.Start(); err != nil {
		return err
	}
	return eventually.Wait(ctx, people.Settled, func() error {
		stats, err := b.players.Stats(ctx)
		if err == nil && (stats.Settled != int64(b.Agents) || stats.TunnelsUp != int64(b.Agents)) {
			err = fmt.Errorf("of %d played agents %d have their content and %d a tunnel", b.Agents, stats.Settled, stats.TunnelsUp)
		}
		return err
	})
}

// measure pushes to one repository after the other.
func (b *pushBench) measure(ctx context.Context) error {
	b.Progress("%d pushes over %d repositories", b.Pushes, len(b.repos))
	var applied, all, played []float64
	for n := range b.Pushes {
		repo := b.repos[n%len(b.repos)]
		if err := b.rested(ctx, repo); err != nil {
			return err
		}
		word := fmt.Sprintf("%s %d", repo, 1+n/len(b.repos))
		if err := b.commit(ctx, repo, word); err != nil {
			return err
		}
		began := time.Now()
		if err := b.people.Push(ctx, repo); err != nil {
			return err
		}
		came, err := b.words.await(ctx, word, len(b.names), pushWithin)
		if err != nil {
			return err
		}
		last := 0.0
		for _, at := range came {
			took := at.Sub(began).Seconds()
			applied, last = append(applied, took), max(last, took)
		}
		all = append(all, last)
		also, err := b.playedSince(ctx, began, repo, word)
		if err != nil {
			return err
		}
		played = append(played, also...)
		if n%25 == 24 {
			b.Progress("%d pushes", n+1)
		}
	}
	b.result.Applied, b.result.All = spreadOf(applied), spreadOf(all)
	if b.Agents > 0 {
		b.result.Played = new(spreadOf(played))
	}
	return nil
}

// rested waits until the hub may look at a repository at once.
func (b *pushBench) rested(ctx context.Context, repo string) error {
	return eventually.Wait(ctx, pushWithin, func() error {
		for _, e := range b.w.Git.Log(repo) {
			if e.Kind != gitserver.Refused && (e.End.IsZero() || time.Since(e.End) < pushGap) {
				return fmt.Errorf("%s was asked %v ago", repo, time.Since(e.Start))
			}
		}
		return nil
	})
}

// playedSince waits until all played agents have a push and returns how long
// each took.
func (b *pushBench) playedSince(ctx context.Context, began time.Time, repo, word string) (took []float64, err error) {
	if b.Agents == 0 {
		return nil, nil
	}
	sums := digest.New()
	for name, text := range b.folder(repo, word) {
		if err := sums.Add(name, digest.File, digest.SumOf([]byte(text))); err != nil {
			return nil, err
		}
	}
	want := sums.Digest().String()
	err = eventually.Wait(ctx, pushWithin, func() error {
		if n := len(b.players.Deliveries(want)); n < b.Agents {
			return fmt.Errorf("%d of %d played agents have %s", n, b.Agents, word)
		}
		return nil
	})
	for _, at := range b.players.Deliveries(want) {
		took = append(took, at.Sub(began).Seconds())
	}
	return took, err
}
