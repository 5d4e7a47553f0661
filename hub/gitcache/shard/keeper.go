package shard

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// Leases stores ownership, for one run of this replica.
type Leases interface {
	// Acquire takes those leases that are free and returns their epochs.
	Acquire(ctx context.Context, ids []string) (map[string]int64, error)
	// Renew extends all leases that this run still has and returns their
	// epochs.
	Renew(ctx context.Context) (map[string]int64, error)
	// Release releases leases, by their epochs.
	Release(ctx context.Context, epochs map[string]int64) error
}

// Config configures a Keeper.
type Config struct {
	Leases Leases
	// Own does an owner's work until ctx ends. When it returns earlier, the
	// lease is released and acquired again later.
	Own func(ctx context.Context, id string, epoch int64) error

	RenewEvery time.Duration
	FenceAfter time.Duration
	// Batch is the most leases that one call acquires or releases.
	Batch int
	Log   *slog.Logger
}

// Keeper keeps the leases of this replica. Call Run once.
type Keeper struct {
	config Config
	wake   chan struct{}

	mu     sync.Mutex
	wanted map[string]bool
	owned  map[string]*ownership
	// taking are those being acquired: a renewal may see them before the
	// acquiring call returns.
	taking map[string]bool
}

// ownership is a lease that is held, or that was lost while its work still
// ends.
type ownership struct {
	epoch  int64
	proved time.Time // start of the last renewal that proved it
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// ErrFenced ends the work of an owner that can no longer prove its lease.
var ErrFenced = errors.New("the lease could not be proved in time")

var (
	errUnwanted   = errors.New("the repository is not wanted here any more")
	errHandedOver = errors.New("the repository is handed over to another replica")
)

// New returns a Keeper that owns nothing yet.
func New(c Config) *Keeper {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Keeper{config: c, wake: make(chan struct{}, 1), wanted: map[string]bool{}, owned: map[string]*ownership{}, taking: map[string]bool{}}
}

// Want replaces the set of repositories that this replica should own, if no
// other replica does.
func (k *Keeper) Want(ids []string) {
	wanted := make(map[string]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	k.mu.Lock()
	k.wanted = wanted
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Owns returns the epoch under which this replica owns an id, 0 when it does
// not.
func (k *Keeper) Owns(id string) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if o, ok := k.owned[id]; ok {
		return o.epoch
	}
	return 0
}

// Owned returns the ids that this replica owns, with their epochs.
func (k *Keeper) Owned() map[string]int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := make(map[string]int64, len(k.owned))
	for id, o := range k.owned {
		out[id] = o.epoch
	}
	return out
}

// HandOver ends an owner's work, waits for its end and releases the lease, so
// that another replica can take it. It returns the epoch that ended, 0 when
// nothing was owned. The id is no longer wanted until Want includes it again.
func (k *Keeper) HandOver(ctx context.Context, id string) (epoch int64, err error) {
	k.mu.Lock()
	delete(k.wanted, id)
	o := k.owned[id]
	if o != nil {
		o.cancel(errHandedOver)
	}
	k.mu.Unlock()
	if o == nil {
		return 0, nil
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		return 0, errcode.New(errcode.Unavailable, "the work on %s did not end in time; its lease is released when it does", id)
	}
	err = k.config.Leases.Release(ctx, map[string]int64{id: o.epoch})
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil && k.owned[id] == o {
		delete(k.owned, id)
	}
	return o.epoch, err
}

// Run keeps leases until ctx ends, then ends all work and releases them.
// Renewals run in parallel with acquiring and releasing, so that many of these
// never let held leases expire.
func (k *Keeper) Run(ctx context.Context) error {
	var beside sync.WaitGroup
	beside.Go(func() { k.fence(ctx) })
	beside.Go(func() { k.every(ctx, func() { k.renew(ctx) }) })
	beside.Go(func() { k.every(ctx, k.poke) })
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-k.wake:
			k.adjust(ctx)
		}
	}
	beside.Wait()
	// The database may be gone too; the next owner then waits for expiry.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.config.RenewEvery)
	defer cancel()
	k.mu.Lock()
	k.wanted = map[string]bool{}
	k.mu.Unlock()
	k.dismiss(last, true)
	return nil
}

// every calls fn each RenewEvery until ctx ends.
func (k *Keeper) every(ctx context.Context, fn func()) {
	tick := time.NewTicker(k.config.RenewEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			fn()
		}
	}
}

func (k *Keeper) poke() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// renew proves the leases, all in one call.
func (k *Keeper) renew(ctx context.Context) {
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, k.config.FenceAfter/2)
	defer cancel()
	before := k.Owned()
	held, err := k.config.Leases.Renew(ctx)
	if err != nil {
		k.config.Log.Warn("leases cannot be renewed", logkey.Error, err)
		return
	}
	strays := map[string]int64{}
	k.mu.Lock()
	for id, epoch := range before {
		if o := k.owned[id]; o != nil && o.epoch == epoch {
			if held[id] == epoch {
				o.proved = started
			} else {
				o.cancel(ErrFenced)
			}
		}
	}
	for id, epoch := range held {
		if k.owned[id] == nil && !k.taking[id] {
			strays[id] = epoch
		}
	}
	k.mu.Unlock()
	// A database that failed over and lost its last seconds reports leases that
	// this replica has released meanwhile. No work runs under such a lease, and
	// renewing it would keep all other replicas out for good.
	k.release(ctx, strays)
}

// release releases leases in batches. A lease whose release fails expires.
func (k *Keeper) release(ctx context.Context, epochs map[string]int64) {
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(epochs)), max(1, k.config.Batch)) {
		part := make(map[string]int64, len(ids))
		for _, id := range ids {
			part[id] = epochs[id]
		}
		if err := k.config.Leases.Release(ctx, part); err != nil {
			k.config.Log.Warn("leases cannot be given back", logkey.Count, len(part), logkey.Repository, ids[0], logkey.Error, err)
		}
	}
}

// fence ends the work of owners whose proof is too old. It never waits for the
// database.
func (k *Keeper) fence(ctx context.Context) {
	tick := time.NewTicker(k.config.FenceAfter / 20)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		k.mu.Lock()
		for _, o := range k.owned {
			if time.Since(o.proved) > k.config.FenceAfter {
				o.cancel(ErrFenced)
			}
		}
		k.mu.Unlock()
	}
}

// adjust ends work that is unwanted or over, and begins work that is wanted and
// free. It takes all leases before any work begins, unless a call fails: the work
// of the first ones writes to the same database, and on a slow disk the last
// leases would wait for minutes behind it.
func (k *Keeper) adjust(ctx context.Context) {
	k.dismiss(ctx, false)
	k.mu.Lock()
	var missing []string
	for id := range k.wanted {
		if _, ok := k.owned[id]; !ok {
			missing = append(missing, id)
		}
	}
	k.mu.Unlock()
	slices.Sort(missing) // the same lock order in all replicas
	var begin []func()
	for ids := range slices.Chunk(missing, max(1, k.config.Batch)) {
		if ctx.Err() != nil {
			break
		}
		taken, err := k.acquire(ctx, ids)
		if begin = append(begin, taken...); err != nil {
			k.config.Log.Warn("leases cannot be acquired", logkey.Count, len(ids), logkey.Repository, ids[0], logkey.Error, err)
			start(begin)
			begin = nil
		}
	}
	start(begin)
}

func start(works []func()) {
	for _, work := range works {
		go work()
	}
}

// acquire takes the free leases of a batch and returns their work.
func (k *Keeper) acquire(ctx context.Context, ids []string) (works []func(), err error) {
	k.mu.Lock()
	for _, id := range ids {
		k.taking[id] = true
	}
	k.mu.Unlock()
	started := time.Now()
	call, cancel := context.WithTimeout(ctx, k.config.FenceAfter/2)
	epochs, err := k.config.Leases.Acquire(call, ids)
	cancel()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range ids {
		delete(k.taking, id)
		if epoch := epochs[id]; epoch != 0 {
			works = append(works, k.own(ctx, id, epoch, started))
		}
	}
	return works, err
}

// own records a lease and returns the owner's work, which must be run. The caller
// holds the lock.
func (k *Keeper) own(ctx context.Context, id string, epoch int64, proved time.Time) func() {
	work, cancel := context.WithCancelCause(ctx)
	o := &ownership{epoch: epoch, proved: proved, cancel: cancel, done: make(chan struct{})}
	k.owned[id] = o
	return func() {
		defer close(o.done)
		defer cancel(nil)
		if err := k.config.Own(work, id, epoch); err != nil && work.Err() == nil {
			k.config.Log.Warn("an owner gave up", logkey.Repository, id, logkey.Epoch, epoch, logkey.Error, err)
		}
	}
}

// dismiss cancels unwanted work, and releases the leases of work that has
// ended. With wait, it waits for the work that it cancelled; otherwise the next
// call releases those leases, so that new work is not delayed.
func (k *Keeper) dismiss(ctx context.Context, wait bool) {
	k.mu.Lock()
	ending := map[string]*ownership{}
	for id, o := range k.owned {
		if !k.wanted[id] {
			o.cancel(errUnwanted)
			if wait {
				ending[id] = o
				continue
			}
		}
		select {
		case <-o.done:
			ending[id] = o
		default:
		}
	}
	k.mu.Unlock()
	epochs := make(map[string]int64, len(ending))
	for id, o := range ending {
		select {
		case <-o.done:
			epochs[id] = o.epoch
		case <-ctx.Done():
		}
	}
	k.release(ctx, epochs)
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, o := range ending {
		if _, ended := epochs[id]; ended && k.owned[id] == o {
			delete(k.owned, id)
		}
	}
}
