package fanout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/errcode"
)

func TestPlanFillsWhatIsOpen(t *testing.T) {
	got, err := Plan{}.Normal()
	want := Plan{Waves: []string{"100%"}, Soak: 15 * time.Minute, FailAfter: 10 * time.Minute, FailPercent: 5}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"1", "1%", "10%", "100%"}, DefaultWaves); diff != "" {
		t.Error(diff)
	}
}

func TestPlanRefusesWhatCannotBe(t *testing.T) {
	for name, p := range map[string]Plan{
		"no number":   {Waves: []string{"some"}},
		"nothing":     {Waves: []string{"0"}},
		"too much":    {Waves: []string{"101%"}},
		"too many":    {Waves: make([]string, 51)},
		"unavailable": {MaxUnavailable: "-1"},
		"negative":    {Soak: -1},
		"percent":     {FailPercent: 101},
	} {
		if _, err := p.Normal(); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPlanCountsFromTheFirst(t *testing.T) {
	count := func(p Plan, n int) []int {
		sizes := make([]int, len(p.Waves))
		for _, w := range p.waveOf(n) {
			sizes[w]++
		}
		return sizes
	}
	defaults := Plan{Waves: DefaultWaves}
	for n, want := range map[int][]int{0: {0, 0, 0, 0}, 1: {1, 0, 0, 0}, 20: {1, 0, 1, 18}, 200: {1, 1, 18, 180}, 10000: {1, 99, 900, 9000}} {
		if diff := cmp.Diff(want, count(defaults, n)); diff != "" {
			t.Errorf("%d clusters, -want +got\n%s", n, diff)
		}
	}
	if diff := cmp.Diff([]int{5, 5}, count(Plan{Waves: []string{"50%", "10%"}}, 10)); diff != "" {
		t.Error("the last wave is all that is left, -want +got\n", diff)
	}
}

func TestImagesKeepTheirRegistry(t *testing.T) {
	for image, want := range map[string]string{
		"ghcr.io/axle-cd/axle-agent:1.2": "ghcr.io/axle-cd/axle-agent", "mirror:5000/a/axle-agent": "mirror:5000/a/axle-agent",
		"mirror:5000/axle-agent:1": "mirror:5000/axle-agent", "axle-agent": "axle-agent",
	} {
		if got, ok := repository(image); !ok || got != want {
			t.Errorf("%s: %q, %v", image, got, ok)
		}
	}
	for _, image := range []string{"", "a/b@sha256:00"} {
		if got, ok := repository(image); ok {
			t.Errorf("%q became %q", image, got)
		}
	}
}
