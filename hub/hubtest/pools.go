package hubtest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

// Filling is who fills a pool, with ever more of what they can have more of, and with how many
// places at a time.
type Filling struct {
	as    func(n int) pool.Caller
	steps int
}

// The ways to fill a pool: by one caller, by many tokens of one project, and by many
// networks of one site.
var (
	byOne     = Filling{func(int) pool.Caller { return pool.Caller{Name: "tenant"} }, 1}
	byProject = Filling{func(n int) pool.Caller { return pool.Caller{Name: fmt.Sprint("tenant ", n), Project: "tenants"} }, 1}
	bySite    = Filling{func(n int) pool.Caller { return pool.Stranger(fmt.Sprintf("[2001:db8:7:%x::1]:443", n)) }, 1}
)

func inSteps(f Filling, of int) Filling { return Filling{f.as, of} }

// Fillings has a row for each pool of the hub and of an agent.
var Fillings = map[string]Filling{
	"cluster_requests": byOne, "replica_requests": byProject, "large_heads": byProject, "logs": byProject, "object_trees": byProject,
	"telemetry_questions": byProject, "namespace_looks": byProject, "telemetry_tails": byProject,
	"calls": byProject, "list_streams": byProject, "list_rows": inSteps(byProject, 1000), "tunnel_dials": byProject, "agent_calls": byProject, "notifications": byProject, "upstream_requests": byProject, "host_requests": byProject,
	"first_copies": byProject, "object_readers": byProject, "repository_openings": byProject, "mirror_seeds": byProject, "mirror_copies": byProject, "variants": byProject, "hints": byProject, "host_first_copies": byProject, "tunnel_probes": bySite,
	"registrations": byOne, "enrolments": byOne, "deliveries": byOne, "large_deliveries": byOne, "passwords": byOne, "login_codes": byOne,
	"login_tries": bySite, "login_guesses": bySite, "login_logouts": bySite,
	"strangers_bodies": bySite, "strangers_heads": inSteps(bySite, 64<<10), "strangers_passwords": bySite,
	"strangers_registrations": bySite, "strangers_exchanges": bySite, "strangers_records": bySite,
	"signin_browsers": bySite, "signin_requests": bySite, "signin_wrong": bySite, "signin_devices": bySite, "signin_clients": byOne,
	"strangers_tokens": bySite, "absent_tokens": byOne, "strangers_token_reviews": bySite, "operator_token_reviews": byOne,

	"passes": byOne, "renders": byOne, "heals": byOne, "test_runs": byOne, "made_clusters": byOne,
	"readiness_reports": byOne, "telemetry_requests": byOne, "namespace_reviews": byOne,
}

// Taker takes of a pool; Held is nil where time alone gives back.
type Taker func(pool.Caller) (*pool.Held, error)

// Taker returns how to take of a pool, *pool.Places or *pool.Rates.
func (f Filling) Taker(one any) Taker {
	if p, ok := one.(*pool.Places); ok {
		return func(c pool.Caller) (*pool.Held, error) { return p.TakeMany(c, f.steps) }
	}
	r := one.(*pool.Rates)
	return func(c pool.Caller) (*pool.Held, error) { return nil, r.Take(c) }
}

// Fill takes all that can be had, and returns the last refusal, and a caller who gets nothing.
func (f Filling) Fill(take Taker) (last pool.Caller, refusal error) {
	for n, inARow := 0, 0; inARow < 100 && n < 100_000; n++ {
		last = f.as(n)
		if _, err := take(last); err != nil {
			refusal = err
			inARow++
		} else {
			inARow = 0
		}
	}
	return last, refusal
}

// Full are pools that a tenant, or strangers of one site, hold full until Leave: what comes
// back with time they take again.
type Full struct {
	held  []func()
	pools []filled
	stop  chan struct{}
	work  sync.WaitGroup
	mu    sync.Mutex
}

// filled is one pool, with a caller who gets nothing.
type filled struct {
	name string
	take Taker
	last pool.Caller
}

// FillAll fills all pools of some sets.
func FillAll(sets ...*pool.Set) (*Full, error) {
	f := &Full{stop: make(chan struct{})}
	var without []string
	for _, s := range sets {
		s.Each(func(name string, one any) {
			row, ok := Fillings[name]
			if !ok {
				without = append(without, name)
				return
			}
			f.fill(name, one, row)
		})
	}
	f.work.Go(f.keep)
	if len(without) > 0 {
		f.Leave()
		return nil, fmt.Errorf("nothing fills the pools %v", without)
	}
	return f, nil
}

func (f *Full) fill(name string, one any, row Filling) {
	rates, _ := one.(*pool.Rates)
	of := row.Taker(one)
	take := func(c pool.Caller) (*pool.Held, error) {
		held, err := of(c)
		switch {
		case err != nil:
		case rates != nil:
			f.held = append(f.held, func() { rates.GiveBack(c) })
		default:
			f.held = append(f.held, held.Leave)
		}
		return held, err
	}
	last, _ := row.Fill(take)
	f.pools = append(f.pools, filled{name, take, last})
}

// keep takes again what came back.
func (f *Full) keep() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-tick.C:
		}
		f.mu.Lock()
		for _, p := range f.pools {
			_ = p.again() // Names has the error
		}
		f.mu.Unlock()
	}
}

// again takes what came back, and returns the refusal; nil if there is always more.
func (p filled) again() (refusal error) {
	for n := 0; refusal == nil && n < 1000; n++ {
		_, refusal = p.take(p.last)
	}
	return refusal
}

// Names returns the pools, each once, and fails when who filled one is not refused now.
func (f *Full) Names() (names []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.pools {
		if late := p.again(); !errcode.Is(late, errcode.Exhausted) {
			err = fmt.Errorf("the pool %s is not full: who filled it gets %v", p.name, late)
		}
		names = append(names, p.name)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// Leave gives all back.
func (f *Full) Leave() {
	close(f.stop)
	f.work.Wait()
	for _, back := range f.held {
		back()
	}
}
