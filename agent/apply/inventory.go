package apply

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"
	"k8s.io/apimachinery/pkg/types"

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

// entry is one object that the service has, or is about to have.
type entry struct {
	kind  kubeobj.Kind
	ref   kubeobj.Ref
	order order
	uid   types.UID
	// hash is the hash of the applied body; zero before that.
	hash  uint64
	print kubeobj.Fingerprint
	once  bool
	prune pruning
	// leaving says that the service no longer renders it.
	leaving bool
	// fresh says that it was written and has not been healthy since.
	fresh bool
	hook  hookRun
}

// hookRun is the record of a hook's last run.
type hookRun struct {
	moment moment
	// runs is false for everything that is not a hook.
	runs   bool
	policy hookPolicy
	// key identifies the run: the object and the revision; zero if it never ran.
	key uint64
	end hookEnd
	// until is when a run that has not ended counts as failed.
	until time.Time
}

// inventory is the record of one service.
type inventory struct {
	service, name, namespace  string
	tarballDigest, specDigest string
	seen                      string
	phase                     phase
	appliedAt                 time.Time
	waitUntil                 time.Time
	approval                  int64
	held                      int
	// heldFor is why a prune is held that a person may release, apart from the prune limit:
	// one of the heldFor constants. heldApproval is PruneApproval when this was first
	// reported.
	heldFor      string
	heldApproval int64
	strict       bool
	// goal is the revision in progress, or the last one if the phase is Applied.
	// reached is the position of the pass.
	goal    string
	reached order
	// attempt counts failures of the goal. The next try is at retryAt. why is the
	// failure, scrubbed.
	attempt         int
	retryAt         time.Time
	why, failedSpec string
	// syncRequest is the last sync request that was handled.
	syncRequest int64
	// settings is Service.Settings of the last pass that wrote everything.
	settings string
	// storedSync is the stored syncRequest.
	storedSync int64
	// drainHooks are the hooks of a drain, as last rendered.
	drainHooks []wireItem
	// user is the account of the last pass, empty for the agent itself.
	user    string
	entries map[kubeobj.Ref]entry
	// shards are the numbers of the Secrets beside the first.
	shards []int
	// version is the first Secret's resourceVersion, empty before it exists.
	version string
}

func (i *inventory) clone() *inventory {
	c := *i
	c.entries = make(map[kubeobj.Ref]entry, len(i.entries))
	for ref, e := range i.entries {
		c.entries[ref] = e
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
	Phase         phase  `json:"phase"`
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
	DrainHooks []wireItem `json:"farewell,omitempty"`
}

func toWire(e entry) wireEntry {
	return wireEntry{
		Group: e.kind.Group, Version: e.kind.Version, Kind: e.kind.Kind, Resource: e.kind.Resource, Namespaced: e.kind.Namespaced,
		Namespace: e.ref.Namespace, Name: e.ref.Name, Stage: e.order.Stage, Wave: e.order.Wave, UID: string(e.uid), Hash: e.hash,
		Own: e.print.Own, Unscaled: e.print.Unscaled, Foreign: e.print.Foreign,
		Once: e.once, Prune: int(e.prune), Leaving: e.leaving, Fresh: e.fresh,
		Runs: e.hook.runs, Moment: int(e.hook.moment), Policy: int(e.hook.policy), Run: e.hook.key, End: int(e.hook.end), Until: clock.Micros(e.hook.until),
	}
}

func fromWire(w wireEntry) entry {
	return entry{
		kind:  kubeobj.Kind{Group: w.Group, Version: w.Version, Kind: w.Kind, Resource: w.Resource, Namespaced: w.Namespaced},
		ref:   kubeobj.Ref{Group: w.Group, Kind: w.Kind, Namespace: w.Namespace, Name: w.Name},
		order: order{w.Stage, w.Wave}, uid: types.UID(w.UID), hash: w.Hash,
		print: kubeobj.Fingerprint{Own: w.Own, Unscaled: w.Unscaled, Foreign: w.Foreign},
		once:  w.Once, prune: pruning(w.Prune), leaving: w.Leaving, fresh: w.Fresh,
		hook: hookRun{moment: moment(w.Moment), runs: w.Runs, policy: hookPolicy(w.Policy), key: w.Run, end: hookEnd(w.End), until: clock.FromMicros(w.Until)},
	}
}

// sorted returns the entries in a fixed order, so that equal inventories have
// equal bytes.
func (i *inventory) sorted() []entry {
	all := make([]entry, 0, len(i.entries))
	for _, e := range i.entries {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int { return a.ref.Compare(b.ref) })
	return all
}

// encode packs the inventory. The first shard holds the state and, if they fit, all
// entries. Otherwise the entries are in further shards, numbered by next and listed
// in the state.
func (i *inventory) encode(next func(count int) []int) (first []byte, more map[int][]byte, err error) {
	entries := make([]wireEntry, 0, len(i.entries))
	for _, e := range i.sorted() {
		entries = append(entries, toWire(e))
	}
	state := i.wireState()
	first, fits, err := pack(wireShard{Codec: codecVersion, Service: i.service, State: &state, Entries: entries})
	if err != nil || fits {
		i.shards = nil
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
	i.shards = state.Shards
	first, _, err = pack(wireShard{Codec: codecVersion, Service: i.service, State: &state})
	return first, more, err
}

func (i *inventory) wireState() wireState {
	return wireState{
		Name: i.name, Namespace: i.namespace, TarballDigest: i.tarballDigest, SpecDigest: i.specDigest, Seen: i.seen, Phase: i.phase,
		AppliedAt: clock.Micros(i.appliedAt), WaitUntil: clock.Micros(i.waitUntil), Approval: i.approval, Held: i.held, HeldFor: i.heldFor, HeldApproval: i.heldApproval, Strict: i.strict,
		Goal: i.goal, Stage: i.reached.Stage, Wave: i.reached.Wave, Attempt: i.attempt, RetryAt: clock.Micros(i.retryAt), Why: i.why, FailedSpec: i.failedSpec, SyncRequest: i.syncRequest, Settings: i.settings, User: i.user, DrainHooks: i.drainHooks,
	}
}

// split cuts entries into packed parts that each fit into a shard.
func (i *inventory) split(entries []wireEntry) ([][]byte, error) {
	part, fits, err := pack(wireShard{Codec: codecVersion, Service: i.service, Entries: entries})
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
func decode(shards map[int][]byte) (*inventory, error) { return decodeBy(unpack, shards) }

func decodeBy(unpack func([]byte) (wireShard, error), shards map[int][]byte) (*inventory, error) {
	first, err := unpack(shards[0])
	if err != nil {
		return nil, err
	}
	if first.State == nil || first.Service == "" {
		return nil, fmt.Errorf("the first Secret of an inventory holds no state")
	}
	s := first.State
	i := &inventory{
		service: first.Service, name: s.Name, namespace: s.Namespace, tarballDigest: s.TarballDigest, specDigest: s.SpecDigest, seen: s.Seen,
		phase: s.Phase, appliedAt: clock.FromMicros(s.AppliedAt), waitUntil: clock.FromMicros(s.WaitUntil), approval: s.Approval,
		held: s.Held, heldFor: s.HeldFor, heldApproval: s.HeldApproval, strict: s.Strict, shards: s.Shards, entries: map[kubeobj.Ref]entry{},
		goal: s.Goal, reached: order{s.Stage, s.Wave}, attempt: s.Attempt, retryAt: clock.FromMicros(s.RetryAt), why: s.Why, failedSpec: s.FailedSpec, syncRequest: s.SyncRequest, settings: s.Settings, storedSync: s.SyncRequest, user: s.User, drainHooks: s.DrainHooks,
	}
	entries := first.Entries
	read := map[int]bool{0: true}
	for _, n := range s.Shards {
		data, ok := shards[n]
		if !ok || read[n] {
			return nil, fmt.Errorf("inventory of service %s: Secret %d is missing or listed twice", i.service, n)
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
		if e.ref.Kind == "" || e.ref.Name == "" || e.kind.Resource == "" || e.kind.Version == "" {
			return nil, fmt.Errorf("an entry of the inventory of service %s has no name", i.service)
		}
		i.entries[e.ref] = e
	}
	return i, nil
}
