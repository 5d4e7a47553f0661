// Package fanout measures what a change of a global service costs: a hub on
// Postgres, both as processes, a global service on every cluster, and one edit and
// one commit of it. cmd/dev runs it as bench-fanout, with simulated agents.
//
// The hub's work is measured from the change until each target has its revision.
// What the agents then fetch and report is spread over their poll interval, and is
// not in it; bench-fleet measures that.
package fanout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/scale"
	"github.com/axle-cd/axle/test/scale/hubproc"
	"github.com/axle-cd/axle/test/scale/people"
)

// most bounds each wait.
const most = 5 * time.Minute

// Config says what Measure measures.
type Config struct {
	// Clusters is how many; zero is 1,000.
	Clusters int
	// Interval is that of the agents' polls; zero is 2 min.
	Interval time.Duration
	// Player is the command that runs scale.Play. Without it the clusters have no
	// agents, and nothing waits for them.
	Player   []string
	Progress func(format string, args ...any)
}

// Change is what one change took.
type Change struct {
	HubCPU      float64 `json:"hub_cpu_s"`
	DatabaseCPU float64 `json:"db_cpu_s"`
	Rows        int64   `json:"rows_written"`
	Feed        int64   `json:"feed_events"`
	// Seconds are until each target has its revision, LastAgent until the last agent
	// has reported it; zero without agents.
	Seconds   float64 `json:"targets_s"`
	LastAgent float64 `json:"last_agent_s"`
}

// Result is what a commit took and, under Edit, what an edit of the template took.
type Result struct {
	Clusters int `json:"clusters"`
	Change
	Edit Change `json:"edit"`
}

type bench struct {
	Config
	hub      *hubproc.Replicas
	git      *gitserver.Server
	people   *people.People
	players  *scale.Players
	database *pgx.Conn
	revision int
}

// Measure makes a global service on all clusters, edits it, and commits to its source.
func Measure(ctx context.Context, c Config) (result Result, err error) {
	c.Clusters, c.Interval = cmp.Or(c.Clusters, 1000), cmp.Or(c.Interval, 2*time.Minute)
	if c.Progress == nil {
		c.Progress = func(string, ...any) {}
	}
	dir, err := os.MkdirTemp("", "axle-fanout-")
	if err != nil {
		return result, err
	}
	b := &bench{Config: c}
	defer func() { err = errors.Join(err, b.close(ctx), os.RemoveAll(dir)) }()
	if err := b.start(ctx, dir); err != nil {
		return result, err
	}
	result.Clusters = c.Clusters
	b.Progress("the global service is created")
	if _, err = b.measure(ctx, func() error { return b.apply(ctx, "red") }); err != nil {
		return result, fmt.Errorf("the first targets: %w", err)
	}
	b.Progress("it is edited")
	if result.Edit, err = b.measure(ctx, func() error { return b.apply(ctx, "blue") }); err != nil {
		return result, fmt.Errorf("the edit: %w", err)
	}
	b.Progress("its source gets a commit")
	result.Change, err = b.measure(ctx, func() error {
		if _, err := b.git.Commit(ctx, "fleet", "main", "change", people.App("web", "changed")); err != nil {
			return err
		}
		return b.people.Refresh(ctx, "fleet")
	})
	return result, err
}

func (b *bench) start(ctx context.Context, dir string) (err error) {
	program, err := bin.Path(ctx, "axle-hub", bin.Options{})
	if err != nil {
		return err
	}
	b.Progress("a hub on Postgres starts")
	if b.hub, err = hubproc.Start(ctx, hubproc.Config{Dir: filepath.Join(dir, "hub"), Program: program, Postgres: true}); err != nil {
		return err
	}
	if b.database, err = pgx.Connect(ctx, b.hub.DatabaseURL()); err != nil {
		return err
	}
	if b.people, err = people.SetUp(ctx, people.Hub{URL: b.hub.URL(), CAPEM: b.hub.CA()}, b.hub.SetupTokenFile()); err != nil {
		return err
	}
	if b.git, err = gitserver.Start(ctx, gitserver.Config{}); err != nil {
		return err
	}
	if err := b.people.Repository(ctx, b.git, "fleet", people.App("web", "hello")); err != nil {
		return err
	}
	b.Progress("%d clusters come", b.Clusters)
	if len(b.Player) == 0 {
		for n := range b.Clusters {
			if _, err := b.people.Cluster(ctx, scale.PlayedName(n), nil); err != nil {
				return err
			}
		}
		return nil
	}
	b.players, err = scale.StartPlayers(ctx, b.Player, scale.PlayerConfig{
		URL: b.hub.URL(), CAPEM: b.hub.CA(), Count: b.Clusters, Interval: b.Interval, Spread: b.Interval,
	}, b.people.Bootstrap, b.Progress)
	if err != nil {
		return err
	}
	return b.players.Start()
}

func (b *bench) close(ctx context.Context) error {
	var errs []error
	if b.players != nil {
		errs = append(errs, b.players.Close())
	}
	if b.database != nil {
		errs = append(errs, b.database.Close(context.WithoutCancel(ctx)))
	}
	if b.git != nil {
		errs = append(errs, b.git.Close())
	}
	if b.hub != nil {
		errs = append(errs, b.hub.Close())
	}
	return errors.Join(errs...)
}

func (b *bench) apply(ctx context.Context, color string) error {
	_, err := b.people.API.GlobalServices.Apply(ctx, connect.NewRequest(&hubv1.ApplyGlobalServiceRequest{
		Name: "web", Settings: &hubv1.GlobalServiceSettings{}, Spec: &hubv1.ServiceSpec{
			Repository: "fleet", Git: &hubv1.Git{Ref: "main", Folder: "apps/web"}, Configuration: map[string]string{"color": color},
		},
	}))
	return err
}

// number reads one number from the database.
func (b *bench) number(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = b.database.QueryRow(ctx, query, args...).Scan(&n)
	return n, err
}

// written is how many rows were written to the tables of services and their sources. The
// hub's sessions send what they counted some time after a transaction.
const written = `SELECT COALESCE(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint FROM pg_stat_user_tables WHERE relname IN
	('services', 'service_sources', 'revisions', 'specs', 'contents', 'heads', 'moved_sources', 'global_services', 'global_pending', 'global_failures', 'outbox')`

// told is how many rows the feed has, except for those of agents' reports.
const told = `SELECT count(*) FROM outbox WHERE changes LIKE '%"service"%' OR changes LIKE '%"followers"%' OR changes LIKE '%"global"%' OR changes LIKE '%"head"%'`

// counted is more than the 10 s after which an idle session sends what it counted.
const counted = 12 * time.Second

// measure makes a change, waits until all targets have the next revision, and then for
// the agents.
func (b *bench) measure(ctx context.Context, change func() error) (c Change, err error) {
	b.revision++
	rows, err := b.number(ctx, written)
	if err != nil {
		return c, err
	}
	feed, err := b.number(ctx, told)
	if err != nil {
		return c, err
	}
	hub, database, began := b.hub.Usage(), b.hub.DatabaseCPU(), time.Now()
	if err := change(); err != nil {
		return c, err
	}
	if err := b.until(ctx, "SELECT count(*) FROM services WHERE revision = $1", b.revision); err != nil {
		return c, err
	}
	c.Seconds = time.Since(began).Seconds()
	c.HubCPU, c.DatabaseCPU = (b.hub.Usage() - hub).Seconds(), (b.hub.DatabaseCPU() - database).Seconds()
	after, err := b.number(ctx, told)
	if err != nil {
		return c, err
	}
	c.Feed = after - feed
	if b.players != nil {
		err := b.until(ctx, `SELECT count(*) FROM services s JOIN contents o ON o.id = s.content_id JOIN statuses t ON t.service_id = s.id
			AND t.tarball_digest = o.digest AND t.spec_digest = s.spec_digest WHERE s.revision = $1`, b.revision)
		if err != nil {
			return c, err
		}
		c.LastAgent = time.Since(began).Seconds()
	}
	// The statistics arrive late.
	last := int64(-1)
	err = eventually.WaitEvery(ctx, most, counted, func() error {
		now, err := b.number(ctx, written)
		if err == nil && now != last {
			last, err = now, errors.New("rows are still counted")
		}
		return err
	})
	c.Rows = last - rows
	return c, err
}

// until waits until a query counts every cluster.
func (b *bench) until(ctx context.Context, query string, args ...any) error {
	return eventually.Wait(ctx, most, func() error {
		n, err := b.number(ctx, query, args...)
		if err == nil && n != int64(b.Clusters) {
			err = fmt.Errorf("%d of %d targets have revision %d", n, b.Clusters, b.revision)
		}
		if err != nil {
			return err
		}
		return b.hub.Alive()
	})
}
