package inventory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// The limits of one Secret of an inventory. etcd accepts 1.5 MiB; 512 KiB leaves room
// for base64 and the API server's own copies.
const (
	maxShard = 512 << 10
	// maxUnpacked bounds the unpacked size of a damaged or hostile shard. Entries
	// that are larger before packing are split.
	maxUnpacked = 16 << 20
	// codecVersion is written into each shard; newer versions are rejected.
	codecVersion = 1
)

// Entry is one object that the service has, or is about to have.
type Entry struct {
	Kind  kubeobj.Kind
	Ref   kubeobj.Ref
	Order wave.Order
	UID   types.UID
	// Hash is the hash of the applied body; zero before that.
	Hash  uint64
	Print kubeobj.Fingerprint
	Once  bool
	Prune wave.Pruning
	// Leaving says that the service no longer renders it.
	Leaving bool
	// Fresh says that it was written and has not been healthy since.
	Fresh bool
	// Lost are fields left to others that the last write set to the value of Git.
	Lost string
	Hook HookRun
}

// HookRun is the record of a hook's last run.
type HookRun struct {
	Moment wave.Moment
	// Runs is false for everything that is not a hook.
	Runs   bool
	Policy wave.HookPolicy
	// Key identifies the run: the object and the revision; zero if it never ran.
	Key uint64
	End wave.HookEnd
	// Until is when a run that has not ended counts as failed.
	Until time.Time
}

// Inventory is the record of one service.
type Inventory struct {
	Service, Name, Namespace  string
	TarballDigest, SpecDigest string
	Seen                      string
	Phase                     Phase
	AppliedAt                 time.Time
	WaitUntil                 time.Time
	Approval                  int64
	Held                      int
	// HeldFor is why a prune is held that a person may release, apart from the prune limit:
	// one of the heldFor constants. heldApproval is PruneApproval when this was first
	// reported.
	HeldFor      string
	HeldApproval int64
	Strict       bool
	// Goal is the revision in progress, or the last one if the phase is Applied.
	// reached is the position of the pass.
	Goal    string
	Reached wave.Order
	// Attempt counts failures of the goal. The next try is at retryAt. why is the
	// failure, scrubbed.
	Attempt         int
	RetryAt         time.Time
	Why, FailedSpec string
	// SyncRequest is the last sync request that was handled.
	SyncRequest int64
	// Settings is Service.Settings of the last pass that wrote everything.
	Settings string
	// StoredSync is the stored syncRequest.
	StoredSync int64
	// DrainHooks are the hooks of a drain, as last rendered.
	DrainHooks []wave.Packed
	// User is the account of the last pass, empty for the agent itself.
	User    string
	Entries map[kubeobj.Ref]Entry
	// Shards are the numbers of the Secrets beside the first.
	Shards []int
	// Version is the first Secret's resourceVersion, empty before it exists.
	Version string
}

// Clone copies the inventory, so that the copy can be changed.
func (i *Inventory) Clone() *Inventory {
	c := *i
	c.Entries = make(map[kubeobj.Ref]Entry, len(i.Entries))
	for ref, e := range i.Entries {
		c.Entries[ref] = e
	}
	return &c
}

// wireEntry is the stored form of an entry. Field names are short because there are
// thousands of entries.
type wireEntry struct {
	Group      string `json:"g,omitempty"`
	Version    string `json:"v"`
	Kind       string `json:"k"`
	Resource   string `json:"r"`
	Namespaced bool   `json:"n,omitempty"`
	Namespace  string `json:"ns,omitempty"`
	Name       string `json:"nm"`
	Stage      int    `json:"st,omitempty"`
	Wave       int    `json:"w,omitempty"`
	UID        string `json:"u,omitempty"`
	Hash       uint64 `json:"h,omitempty"`
	Own        uint64 `json:"o,omitempty"`
	Unscaled   uint64 `json:"os,omitempty"`
	Foreign    uint64 `json:"f,omitempty"`
	Once       bool   `json:"x,omitempty"`
	Prune      int    `json:"p,omitempty"`
	Leaving    bool   `json:"l,omitempty"`
	Fresh      bool   `json:"fr,omitempty"`
	Lost       string `json:"lo,omitempty"`
	Runs       bool   `json:"hr,omitempty"`
	Moment     int    `json:"hm,omitempty"`
	Policy     int    `json:"hp,omitempty"`
	Run        uint64 `json:"hk,omitempty"`
	End        int    `json:"he,omitempty"`
	Until      int64  `json:"hu,omitempty"`
}

type wireShard struct {
	Codec   int         `json:"codec"`
	Service string      `json:"service"`
	State   *wireState  `json:"state,omitempty"`
	Entries []wireEntry `json:"entries,omitempty"`
}

type wireState struct {
	Name          string `json:"name"`
	Namespace     string `json:"namespace"`
	TarballDigest string `json:"tarballDigest,omitempty"`
	SpecDigest    string `json:"specDigest,omitempty"`
	Seen          string `json:"seen,omitempty"`
	Phase         Phase  `json:"phase"`
	AppliedAt     int64  `json:"appliedAt,omitempty"`
	WaitUntil     int64  `json:"waitUntil,omitempty"`
	Approval      int64  `json:"approval,omitempty"`
	Held          int    `json:"held,omitempty"`
	HeldFor       string `json:"heldFor,omitempty"`
	HeldApproval  int64  `json:"heldApproval,omitempty"`
	Strict        bool   `json:"strict,omitempty"`
	Shards        []int  `json:"shards,omitempty"`
	Goal          string `json:"goal,omitempty"`
	Stage         int    `json:"stage,omitempty"`
	Wave          int    `json:"wave,omitempty"`
	Attempt       int    `json:"attempt,omitempty"`
	RetryAt       int64  `json:"retryAt,omitempty"`
	Why           string `json:"why,omitempty"`
	FailedSpec    string `json:"failedSpec,omitempty"`
	SyncRequest   int64  `json:"syncRequest,omitempty"`
	Settings      string `json:"settings,omitempty"`
	User          string `json:"user,omitempty"`
	// DrainHooks holds whole objects, at most maxDrainHooks of them packed.
	DrainHooks []wave.Packed `json:"farewell,omitempty"`
}

func toWire(e Entry) wireEntry {
	return wireEntry{
		Group: e.Kind.Group, Version: e.Kind.Version, Kind: e.Kind.Kind, Resource: e.Kind.Resource, Namespaced: e.Kind.Namespaced,
		Namespace: e.Ref.Namespace, Name: e.Ref.Name, Stage: e.Order.Stage, Wave: e.Order.Wave, UID: string(e.UID), Hash: e.Hash,
		Own: e.Print.Own, Unscaled: e.Print.Unscaled, Foreign: e.Print.Foreign,
		Once: e.Once, Prune: int(e.Prune), Leaving: e.Leaving, Fresh: e.Fresh, Lost: e.Lost,
		Runs: e.Hook.Runs, Moment: int(e.Hook.Moment), Policy: int(e.Hook.Policy), Run: e.Hook.Key, End: int(e.Hook.End), Until: clock.Micros(e.Hook.Until),
	}
}

func fromWire(w wireEntry) Entry {
	return Entry{
		Kind:  kubeobj.Kind{Group: w.Group, Version: w.Version, Kind: w.Kind, Resource: w.Resource, Namespaced: w.Namespaced},
		Ref:   kubeobj.Ref{Group: w.Group, Kind: w.Kind, Namespace: w.Namespace, Name: w.Name},
		Order: wave.Order{Stage: w.Stage, Wave: w.Wave}, UID: types.UID(w.UID), Hash: w.Hash,
		Print: kubeobj.Fingerprint{Own: w.Own, Unscaled: w.Unscaled, Foreign: w.Foreign},
		Once:  w.Once, Prune: wave.Pruning(w.Prune), Leaving: w.Leaving, Fresh: w.Fresh, Lost: w.Lost,
		Hook: HookRun{Moment: wave.Moment(w.Moment), Runs: w.Runs, Policy: wave.HookPolicy(w.Policy), Key: w.Run, End: wave.HookEnd(w.End), Until: clock.FromMicros(w.Until)},
	}
}

// Sorted returns the entries in a fixed order, so that equal inventories have
// equal bytes.
func (i *Inventory) Sorted() []Entry {
	all := make([]Entry, 0, len(i.Entries))
	for _, e := range i.Entries {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Entry) int { return a.Ref.Compare(b.Ref) })
	return all
}

// encode packs the inventory. The first shard holds the state and, if they fit, all
// entries. Otherwise the entries are in further shards, numbered by next and listed
// in the state.
func (i *Inventory) encode(next func(count int) []int) (first []byte, more map[int][]byte, err error) {
	entries := make([]wireEntry, 0, len(i.Entries))
	for _, e := range i.Sorted() {
		entries = append(entries, toWire(e))
	}
	state := i.wireState()
	first, fits, err := pack(wireShard{Codec: codecVersion, Service: i.Service, State: &state, Entries: entries})
	if err != nil || fits {
		i.Shards = nil
		return first, nil, err
	}
	parts, err := i.split(entries)
	if err != nil {
		return nil, nil, err
	}
	state.Shards = next(len(parts))
	more = map[int][]byte{}
	for n, part := range parts {
		more[state.Shards[n]] = part
	}
	i.Shards = state.Shards
	first, _, err = pack(wireShard{Codec: codecVersion, Service: i.Service, State: &state})
	return first, more, err
}

func (i *Inventory) wireState() wireState {
	return wireState{
		Name: i.Name, Namespace: i.Namespace, TarballDigest: i.TarballDigest, SpecDigest: i.SpecDigest, Seen: i.Seen, Phase: i.Phase,
		AppliedAt: clock.Micros(i.AppliedAt), WaitUntil: clock.Micros(i.WaitUntil), Approval: i.Approval, Held: i.Held, HeldFor: i.HeldFor, HeldApproval: i.HeldApproval, Strict: i.Strict,
		Goal: i.Goal, Stage: i.Reached.Stage, Wave: i.Reached.Wave, Attempt: i.Attempt, RetryAt: clock.Micros(i.RetryAt), Why: i.Why, FailedSpec: i.FailedSpec, SyncRequest: i.SyncRequest, Settings: i.Settings, User: i.User, DrainHooks: i.DrainHooks,
	}
}

// split cuts entries into packed parts that each fit into a shard.
func (i *Inventory) split(entries []wireEntry) ([][]byte, error) {
	part, fits, err := pack(wireShard{Codec: codecVersion, Service: i.Service, Entries: entries})
	if err != nil || fits || len(entries) < 2 {
		return [][]byte{part}, err
	}
	half := len(entries) / 2
	left, err := i.split(entries[:half])
	if err != nil {
		return nil, err
	}
	right, err := i.split(entries[half:])
	return append(left, right...), err
}

var (
	packer, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10), zstd.WithEncoderLevel(zstd.SpeedDefault))
	opener, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked), zstd.WithDecoderLowmem(true))
)

// pack also reports whether the shard fits into a Secret and may be unpacked.
func pack(shard wireShard) (packed []byte, fits bool, err error) {
	raw, err := json.Marshal(shard)
	if err != nil {
		return nil, false, err
	}
	packed = packer.EncodeAll(raw, nil)
	return packed, len(packed) <= maxShard && len(raw) <= maxUnpacked, nil
}

func unpack(data []byte) (wireShard, error) {
	raw, err := opener.DecodeAll(data, nil)
	if err != nil {
		return wireShard{}, fmt.Errorf("unpack an inventory: %w", err)
	}
	return readShard(raw)
}

func readShard(raw []byte) (wireShard, error) {
	var shard wireShard
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if err := decoder.Decode(&shard); err != nil {
		return shard, fmt.Errorf("read an inventory: %w", err)
	}
	if shard.Codec != codecVersion {
		return shard, fmt.Errorf("the inventory has format %d and this agent reads format %d: use the agent version that wrote it, or a newer one", shard.Codec, codecVersion)
	}
	return shard, nil
}

// decode reads an inventory from its shards by number. Shards that the state does not
// list are left over from an interrupted write.
func decode(shards map[int][]byte) (*Inventory, error) { return decodeBy(unpack, shards) }

func decodeBy(unpack func([]byte) (wireShard, error), shards map[int][]byte) (*Inventory, error) {
	first, err := unpack(shards[0])
	if err != nil {
		return nil, err
	}
	if first.State == nil || first.Service == "" {
		return nil, fmt.Errorf("the first Secret of an inventory holds no state")
	}
	s := first.State
	i := &Inventory{
		Service: first.Service, Name: s.Name, Namespace: s.Namespace, TarballDigest: s.TarballDigest, SpecDigest: s.SpecDigest, Seen: s.Seen,
		Phase: s.Phase, AppliedAt: clock.FromMicros(s.AppliedAt), WaitUntil: clock.FromMicros(s.WaitUntil), Approval: s.Approval,
		Held: s.Held, HeldFor: s.HeldFor, HeldApproval: s.HeldApproval, Strict: s.Strict, Shards: s.Shards, Entries: map[kubeobj.Ref]Entry{},
		Goal: s.Goal, Reached: wave.Order{Stage: s.Stage, Wave: s.Wave}, Attempt: s.Attempt, RetryAt: clock.FromMicros(s.RetryAt), Why: s.Why, FailedSpec: s.FailedSpec, SyncRequest: s.SyncRequest, Settings: s.Settings, StoredSync: s.SyncRequest, User: s.User, DrainHooks: s.DrainHooks,
	}
	entries := first.Entries
	read := map[int]bool{0: true}
	for _, n := range s.Shards {
		data, ok := shards[n]
		if !ok || read[n] {
			return nil, fmt.Errorf("inventory of service %s: Secret %d is missing or listed twice", i.Service, n)
		}
		read[n] = true
		shard, err := unpack(data)
		if err != nil {
			return nil, err
		}
		entries = append(entries, shard.Entries...)
	}
	for _, w := range entries {
		e := fromWire(w)
		if e.Ref.Kind == "" || e.Ref.Name == "" || e.Kind.Resource == "" || e.Kind.Version == "" {
			return nil, fmt.Errorf("an entry of the inventory of service %s has no name", i.Service)
		}
		i.Entries[e.Ref] = e
	}
	return i, nil
}
