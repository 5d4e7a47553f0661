package poll_test

import (
	"testing"

	"github.com/axle-cd/axle/agent/poll"
	"github.com/axle-cd/axle/agent/render"
)

func TestChanged(t *testing.T) {
	read := []render.Read{{Key: render.LookupKey{Kind: "Secret", Name: "a"}, State: "u/1"}}
	done := poll.Inputs{TarballDigest: "t", SpecDigest: "s", Renderer: "r", Kubernetes: "v1.36", APIs: "a", Reads: read}
	with := func(edit func(*poll.Inputs)) poll.Inputs {
		now := done
		edit(&now)
		return now
	}
	for name, test := range map[string]struct {
		done *poll.Inputs
		now  poll.Inputs
		want poll.Cause
	}{
		"all as it was":            {&done, done, poll.Unchanged},
		"no pass since the start":  {nil, done, poll.FirstPass},
		"other files":              {&done, with(func(i *poll.Inputs) { i.TarballDigest = "u" }), poll.NewContent},
		"other settings":           {&done, with(func(i *poll.Inputs) { i.SpecDigest = "u" }), poll.NewSpec},
		"other renderer":           {&done, with(func(i *poll.Inputs) { i.Renderer = "u" }), poll.NewRenderer},
		"cluster was upgraded":     {&done, with(func(i *poll.Inputs) { i.Kubernetes = "v1.37" }), poll.NewCluster},
		"an API came":              {&done, with(func(i *poll.Inputs) { i.APIs = "b" }), poll.NewAPIs},
		"a looked-up object moved": {&done, with(func(i *poll.Inputs) { i.Reads = []render.Read{{Key: read[0].Key, State: "absent"}} }), poll.NewReads},
		"cluster was not asked":    {&done, poll.Inputs{TarballDigest: "t", SpecDigest: "s", Renderer: "r"}, poll.Unchanged},
	} {
		t.Run(name, func(t *testing.T) {
			if got := poll.Changed(test.done, test.now); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestAPIsOf(t *testing.T) {
	served := []string{"v1", "apps/v1"}
	if poll.APIsOf([]string{"x/v1"}, served) != poll.APIsOf([]string{"x/v1"}, append(served, "y/v1")) {
		t.Error("an API that nobody asked for is news")
	}
	if poll.APIsOf([]string{"x/v1"}, served) == poll.APIsOf([]string{"x/v1"}, append(served, "x/v1")) {
		t.Error("an API that was asked for is no news")
	}
	if poll.APIsOf([]string{"*"}, served) == poll.APIsOf([]string{"*"}, append(served, "x/v1")) {
		t.Error("an API is no news to a template that reads all")
	}
}
