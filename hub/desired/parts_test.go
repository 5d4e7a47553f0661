package desired_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/desired"
	"github.com/axle-cd/axle/hub/fleet"
)

// parts returns the parts of a service whose sources point at the n-th
// contents.
func parts(contents ...int) []fleet.Part {
	all := make([]fleet.Part, len(contents))
	for i, n := range contents {
		all[i] = fleet.Part{Path: string(rune('a' + i)), Name: "git", Content: fleet.Content{Digest: digestOf(n), Entry: "base", Size: int64(n)}}
	}
	return all
}

func TestListNamesTheParts(t *testing.T) {
	r, x := start(t)
	row := service("c1", "s1", 1)
	row.Parts = parts(1, 5)
	put(t, r, x, row)
	list, err := x.For("c1")
	if err != nil {
		t.Fatal(err)
	}
	want := []desired.Part{{Path: "a", Name: "git", Digest: digestOf(1), Entry: "base", Bytes: 1}, {Path: "b", Name: "git", Digest: digestOf(5), Entry: "base", Bytes: 5}}
	if diff := cmp.Diff(want, list.Services[0].Parts); diff != "" || list.Services[1].Parts != nil {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestETagCoversEachPart(t *testing.T) {
	for name, change := range map[string]func([]fleet.Part) []fleet.Part{
		"path":     func(p []fleet.Part) []fleet.Part { p[1].Path = "z"; return p },
		"digest":   func(p []fleet.Part) []fleet.Part { p[1].Digest = digestOf(6); return p },
		"entry":    func(p []fleet.Part) []fleet.Part { p[1].Entry = ""; return p },
		"order":    func(p []fleet.Part) []fleet.Part { p[0], p[1] = p[1], p[0]; return p },
		"one less": func(p []fleet.Part) []fleet.Part { return p[:1] },
	} {
		t.Run(name, func(t *testing.T) {
			r, x := start(t)
			row := service("c1", "s1", 1)
			row.Parts = parts(1, 5)
			put(t, r, x, row)
			before := etag(t, x, "c1")
			row.Parts = change(parts(1, 5))
			put(t, r, x, row)
			if etag(t, x, "c1") == before {
				t.Error("the etag stayed")
			}
		})
	}
}

// A cluster may fetch each part as long as any tarball: while it is listed and
// for the three lists after.
func TestPartsMayBeFetched(t *testing.T) {
	r, x := start(t)
	row := service("c1", "s1", 1)
	give(t, x, "c1")
	for n := 11; n <= 14; n++ {
		row.Parts = parts(1, n)
		put(t, r, x, row)
		if !x.MayFetch("c1", digestOf(n)) {
			t.Errorf("part %d is listed and may not be fetched", n)
		}
		give(t, x, "c1")
	}
	row.Parts = nil
	put(t, r, x, row)
	give(t, x, "c1")
	for n, want := range map[int]bool{14: true, 13: true, 12: true, 11: false, 1: true, 99: false} {
		if got := x.MayFetch("c1", digestOf(n)); got != want {
			t.Errorf("digest %d: %v, want %v", n, got, want)
		}
	}
	if x.MayFetch("c2", digestOf(14)) {
		t.Error("another cluster's part was promised")
	}
	row.Parts, row.Deleting, row.TombstoneID = parts(1, 21), fleet.Drain, "t"
	put(t, r, x, row)
	if x.MayFetch("c1", digestOf(21)) {
		t.Error("a part of a service that leaves was promised")
	}
}
