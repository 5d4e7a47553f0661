package world

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/axle-cd/axle/test/pg"
	"github.com/axle-cd/axle/test/port"
)

// Replicas are several hubs on one Postgres behind one address. Each is a process
// with its own data folder and a stable name, from hub-0 on.
type Replicas struct {
	// Front is the load balancer; World.Origin is its URL.
	Front *Front
	// Postgres is this world's own server: stop, pause and crash it at will.
	Postgres *pg.Server
	// DatabaseURL reaches the database past all links.
	DatabaseURL string
	// Hubs are the replicas, by number.
	Hubs []*Replica

	world   *World
	keyFile string
	drop    func()
	// database is for those who look again and again: each new connection to Postgres is a
	// process there.
	database *sql.DB
}

// Replica is one of several hubs.
type Replica struct {
	*Hub
	// Name is its stable name.
	Name string
	// Database is the proxy between it and Postgres; Peers the one between the other
	// replicas and it.
	Database, Peers *port.Link
}

// Origin is where agents and people dial: the front of several replicas, else
// the hub itself.
func (w *World) Origin() string {
	if w.Replicated != nil {
		return w.Replicated.Front.URL
	}
	return w.Hub.URL
}

// startReplicas starts Postgres, n replicas and their front. World.Hub is the
// first replica then.
func (w *World) startReplicas(ctx context.Context, n int) (err error) {
	r := &Replicas{world: w, keyFile: filepath.Join(w.Dir, "hub.key")}
	w.Replicated = r
	if r.Postgres, err = pg.Start(ctx); err != nil {
		return err
	}
	if r.DatabaseURL, r.drop, err = r.Postgres.Clone(ctx); err != nil {
		return err
	}
	if r.database, err = sql.Open("pgx", r.DatabaseURL); err != nil {
		return err
	}
	front, err := port.Address()
	if err != nil {
		return err
	}
	for range n {
		if _, err := r.prepare("http://" + front); err != nil {
			return err
		}
	}
	// The first makes the key and the schema.
	if err := r.Hubs[0].Start(ctx); err != nil {
		return err
	}
	w.Hub = r.Hubs[0].Hub
	group, groupCtx := errgroup.WithContext(ctx)
	for _, hub := range r.Hubs[1:] {
		group.Go(func() error { return hub.Start(groupCtx) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return r.openFront(front)
}

func (r *Replicas) openFront(address string) (err error) {
	var urls []string
	for _, hub := range r.Hubs {
		urls = append(urls, hub.URL)
	}
	r.Front, err = NewFront(address, urls)
	return err
}

// prepare makes one more replica that is not started yet.
func (r *Replicas) prepare(external string) (*Replica, error) {
	name := fmt.Sprintf("hub-%d", len(r.Hubs))
	address, err := port.Address()
	if err != nil {
		return nil, err
	}
	database, err := url.Parse(r.DatabaseURL)
	if err != nil {
		return nil, err
	}
	made := &Replica{Name: name}
	if made.Database, err = port.NewLink(database.Host); err != nil {
		return nil, err
	}
	if made.Peers, err = port.NewLink(address); err != nil {
		return nil, errors.Join(err, made.Database.Close())
	}
	database.Host = made.Database.Addr()
	w := r.world
	made.Hub = &Hub{
		URL: "http://" + address, DataDir: filepath.Join(w.Dir, name), Log: filepath.Join(w.Dir, name+".log"), program: w.Programs["axle-hub"],
		env: append([]string{"AXLE_HUB_DATABASE_URL=" + database.String()}, w.HubEnv...),
	}
	made.flags = append([]string{
		"serve", "--listen", address, "--data-dir", made.DataDir, "--replica", name, "--key-file", r.keyFile,
		"--external-url", external, "--advertise-url", "http://" + made.Peers.Addr(),
		"--allow-upstream-cidrs", "127.0.0.0/8", "--allow-http-upstreams",
	}, w.Config.Hub...)
	r.Hubs = append(r.Hubs, made)
	return made, os.MkdirAll(made.DataDir, 0o700)
}

// Add starts one more replica and puts it behind the front.
func (r *Replicas) Add(ctx context.Context) (*Replica, error) {
	made, err := r.prepare(r.Front.URL)
	if err != nil {
		return nil, err
	}
	if err := made.Start(ctx); err != nil {
		return nil, err
	}
	return made, r.Front.Add(made.URL)
}

// close ends everything.
func (r *Replicas) close() error {
	if r == nil {
		return nil
	}
	failures := []error{r.Front.Close()}
	for _, hub := range r.Hubs {
		failures = append(failures, hub.Kill(), hub.Database.Close(), hub.Peers.Close())
	}
	if r.database != nil {
		failures = append(failures, r.database.Close())
	}
	if r.Postgres != nil {
		failures = append(failures, r.Postgres.Close())
	}
	return errors.Join(failures...)
}

// Placed is where the database says that a repository is.
type Placed struct {
	// Owner holds the lease; empty if nobody does, or if it expired.
	Owner               string
	Preferred, Follower string
	Epoch               int64
	// FollowedAt is when the follower last said that it has everything, in microseconds;
	// 0 is never. It says so when it got something new, else every 10 min.
	FollowedAt int64
}

// Placements reads past all replicas which of them owns each repository, by
// the repository's name.
func (r *Replicas) Placements(ctx context.Context) (map[string]Placed, error) {
	found, err := r.database.QueryContext(ctx, `SELECT r.name, CASE WHEN l.expires_at > extract(epoch FROM clock_timestamp()) * 1000000 THEN l.replica ELSE '' END,
		l.preferred, l.follower, l.epoch, l.followed_at FROM repository_leases l JOIN repositories r ON r.id = l.repository_id`)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	out := map[string]Placed{}
	for found.Next() {
		var name string
		var p Placed
		if err := found.Scan(&name, &p.Owner, &p.Preferred, &p.Follower, &p.Epoch, &p.FollowedAt); err != nil {
			return nil, err
		}
		out[name] = p
	}
	return out, found.Err()
}

// Named returns a replica by its name, nil when there is none.
func (r *Replicas) Named(name string) *Replica {
	for _, hub := range r.Hubs {
		if hub.Name == name {
			return hub
		}
	}
	return nil
}
