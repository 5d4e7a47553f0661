package inventory

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/internal/kubeobj"
)

func sample(count int) *Inventory {
	i := &Inventory{Service: "s", Name: "web", Namespace: "prod", TarballDigest: "axle1:a", SpecDigest: "s1:b", Phase: Waiting,
		AppliedAt: time.UnixMicro(1).UTC(), WaitUntil: time.UnixMicro(2).UTC(), Approval: 3, Held: 4, Strict: true, Entries: map[kubeobj.Ref]Entry{}}
	random := rand.New(rand.NewPCG(1, 2))
	for n := range count {
		e := Entry{
			Kind:  kubeobj.Kind{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespaced: true},
			Ref:   kubeobj.Ref{Group: "apps", Kind: "Deployment", Namespace: "prod", Name: fmt.Sprintf("d%d-%x", n, random.Uint64())},
			Order: wave.Order{Stage: wave.StageMain, Wave: n % 5}, Hash: random.Uint64(), Once: n%2 == 0, Prune: wave.PruneNever, Leaving: n%3 == 0, Fresh: n%4 == 0, Lost: [2]string{"", ".spec.replicas"}[n%2],
			Print: kubeobj.Fingerprint{Own: random.Uint64(), Unscaled: random.Uint64(), Foreign: random.Uint64()},
		}
		i.Entries[e.Ref] = e
	}
	return i
}

var compareInventories = cmp.AllowUnexported(Inventory{}, Entry{}, wave.Order{}, HookRun{})

func TestInventorySurvivesItsCodec(t *testing.T) {
	for name, count := range map[string]int{"empty": 0, "one Secret": 50, "several Secrets": 20000} {
		t.Run(name, func(t *testing.T) {
			want := sample(count)
			first, more, err := want.encode(func(n int) []int { return freeNumbers([]int{1, 2}, n) })
			if err != nil {
				t.Fatal(err)
			}
			shards := map[int][]byte{0: first}
			for n, data := range more {
				shards[n] = data
			}
			for n, data := range shards {
				if len(data) > maxShard {
					t.Errorf("Secret %d has %d bytes", n, len(data))
				}
			}
			if (len(more) > 0) != (count > 10000) || shards[1] != nil {
				t.Errorf("%d entries lie in Secrets %v", count, want.Shards)
			}
			got, err := decode(shards)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, compareInventories); diff != "" {
				t.Error(diff)
			}
			if len(want.Shards) > 0 {
				delete(shards, want.Shards[0])
				if _, err := decode(shards); err == nil {
					t.Error("an inventory of which a Secret is missing is read")
				}
			}
		})
	}
}

// A Secret that anybody in its namespace can write must not cost more than a bound.
func TestHostileInventoryIsBounded(t *testing.T) {
	named := packer.EncodeAll([]byte(`{"codec":1,"service":"s","state":{"shards":[1,1]}}`), nil)
	part, _, err := pack(wireShard{Codec: codecVersion, Service: "s"})
	if err != nil {
		t.Fatal(err)
	}
	bomb := packer.EncodeAll([]byte(`{"codec":1,"service":"s","state":{}}`+strings.Repeat(" ", maxUnpacked)), nil)
	for name, shards := range map[string]map[int][]byte{
		"a bomb":                {0: bomb},
		"many frames":           {0: bytes.Repeat(packer.EncodeAll(bytes.Repeat([]byte{' '}, 1<<20), nil), 17)},
		"one Secret many times": {0: named, 1: part},
		"no Secret":             {},
	} {
		t.Run(name, func(t *testing.T) {
			if i, err := decode(shards); err == nil {
				t.Errorf("it was read: %+v", i)
			}
		})
	}
}

func TestWhatIsTooLargeToUnpackIsSplit(t *testing.T) {
	want := sample(0)
	for n := range 1000 {
		e := Entry{Kind: kubeobj.Kind{Version: "v1", Kind: "ConfigMap", Resource: "configmaps"}, Ref: kubeobj.Ref{Kind: "ConfigMap", Name: strconv.Itoa(n) + strings.Repeat("a", maxUnpacked/900)}}
		want.Entries[e.Ref] = e
	}
	first, shards, err := want.encode(func(n int) []int { return freeNumbers(nil, n) })
	if err != nil || len(shards) < 2 {
		t.Fatalf("got %d more Secrets and %v", len(shards), err)
	}
	shards[0] = first
	if got, err := decode(shards); err != nil || len(got.Entries) != 1000 {
		t.Errorf("got %v", err)
	}
}

// FuzzDecodeInventory mutates the text inside: the packing around it has its own
// checks, which would reject nearly every mutation.
func FuzzDecodeInventory(f *testing.F) {
	first, _, err := sample(1).encode(func(n int) []int { return freeNumbers(nil, n) })
	if err != nil {
		f.Fatal(err)
	}
	text, err := opener.DecodeAll(first, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	for _, text := range []string{`{}`, `{"codec":1,"service":"s","state":{"shards":[0,0]}}`, `{"codec":1,"service":"s","state":{},"entries":[{}]}`, `{"codec":9}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		i, err := decodeBy(readShard, map[int][]byte{0: data})
		if err != nil {
			return
		}
		again, _, err := i.encode(func(n int) []int { return freeNumbers(nil, n) })
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(map[int][]byte{0: again})
		if err != nil || len(got.Entries) != len(i.Entries) {
			t.Errorf("what was read is not what was written: %v", err)
		}
	})
}
