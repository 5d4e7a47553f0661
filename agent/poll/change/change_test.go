package change_test

import (
	"testing"

	"github.com/axle-cd/axle/agent/poll/change"
	"github.com/axle-cd/axle/agent/render"
)

func TestChanged(t *testing.T) {
	read := []render.Read{{Key: render.LookupKey{Kind: "Secret", Name: "a"}, State: "u/1"}}
	done := change.Inputs{TarballDigest: "t", SpecDigest: "s", Renderer: "r", Kubernetes: "v1.36", APIs: "a", Reads: read}
	with := func(edit func(*change.Inputs)) change.Inputs {
		now := done
		edit(&now)
		return now
	}
	for name, test := range map[string]struct {
		done *change.Inputs
		now  change.Inputs
		want change.Cause
	}{
		"all as it was":            {&done, done, change.Unchanged},
		"no pass since the start":  {nil, done, change.FirstPass},
		"other files":              {&done, with(func(i *change.Inputs) { i.TarballDigest = "u" }), change.NewContent},
		"other settings":           {&done, with(func(i *change.Inputs) { i.SpecDigest = "u" }), change.NewSpec},
		"other renderer":           {&done, with(func(i *change.Inputs) { i.Renderer = "u" }), change.NewRenderer},
		"cluster was upgraded":     {&done, with(func(i *change.Inputs) { i.Kubernetes = "v1.37" }), change.NewCluster},
		"an API came":              {&done, with(func(i *change.Inputs) { i.APIs = "b" }), change.NewAPIs},
		"a looked-up object moved": {&done, with(func(i *change.Inputs) { i.Reads = []render.Read{{Key: read[0].Key, State: "absent"}} }), change.NewReads},
		"cluster was not asked":    {&done, change.Inputs{TarballDigest: "t", SpecDigest: "s", Renderer: "r"}, change.Unchanged},
	} {
		t.Run(name, func(t *testing.T) {
			if got := change.Of(test.done, test.now); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestAPIsOf(t *testing.T) {
	served := []string{"v1", "apps/v1"}
	if change.APIsOf([]string{"x/v1"}, served) != change.APIsOf([]string{"x/v1"}, append(served, "y/v1")) {
		t.Error("an API that nobody asked for is news")
	}
	if change.APIsOf([]string{"x/v1"}, served) == change.APIsOf([]string{"x/v1"}, append(served, "x/v1")) {
		t.Error("an API that was asked for is no news")
	}
	if change.APIsOf([]string{"*"}, served) == change.APIsOf([]string{"*"}, append(served, "x/v1")) {
		t.Error("an API is no news to a template that reads all")
	}
}
