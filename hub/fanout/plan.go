package fanout

import (
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
)

// The defaults of a plan.
const (
	// DefaultSoak is how long a wave must be healthy before the next begins.
	DefaultSoak = 15 * time.Minute
	// DefaultFailAfter is when an unhealthy cluster counts as failed.
	DefaultFailAfter = 10 * time.Minute
	// DefaultFailPercent is the share of a wave that may fail.
	DefaultFailPercent = 5
	// maxWaves limits a plan.
	maxWaves = 50
)

// DefaultWaves are how many clusters have a new agent after each wave.
var DefaultWaves = []string{"1", "1%", "10%", "100%"}

// Plan says how a rollout proceeds. The zero value places everything at once.
type Plan struct {
	// Waves are how many clusters have the version after each wave, counted
	// from the first: "1", "25%". The last wave is always all. Empty is one
	// wave of all.
	Waves []string `json:"waves,omitempty"`
	// MaxUnavailable limits the clusters that are placed and not healthy yet,
	// "10" or "5%"; empty is all of a wave.
	MaxUnavailable string `json:"maxUnavailable,omitempty"`
	// Soak, FailAfter and FailPercent are the defaults above when zero.
	Soak        time.Duration `json:"soak,omitempty"`
	FailAfter   time.Duration `json:"failAfter,omitempty"`
	FailPercent int           `json:"failPercent,omitempty"`
}

// Normal fills in the defaults. Invalid errors name the field.
func (p Plan) Normal() (Plan, error) {
	if len(p.Waves) > maxWaves {
		return p, errcode.New(errcode.Invalid, "waves: at most %d", maxWaves)
	}
	for _, w := range p.Waves {
		if _, err := share(w, 100); err != nil {
			return p, errcode.New(errcode.Invalid, "waves: %w", err)
		}
	}
	if p.MaxUnavailable != "" {
		if _, err := share(p.MaxUnavailable, 100); err != nil {
			return p, errcode.New(errcode.Invalid, "maxUnavailable: %w", err)
		}
	}
	if p.Soak < 0 || p.FailAfter < 0 || p.FailPercent < 0 || p.FailPercent > 100 {
		return p, errcode.New(errcode.Invalid, "soak, failAfter and failPercent (at most 100) cannot be negative")
	}
	if len(p.Waves) == 0 {
		p.Waves = []string{"100%"}
	}
	if p.Soak == 0 {
		p.Soak = DefaultSoak
	}
	if p.FailAfter == 0 {
		p.FailAfter = DefaultFailAfter
	}
	if p.FailPercent == 0 {
		p.FailPercent = DefaultFailPercent
	}
	return p, nil
}

// share parses a count, or a percentage of all rounded up, at least 1.
func share(text string, all int) (int, error) {
	number, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || percent && n > 100 {
		return 0, errcode.New(errcode.Invalid, "%.20q is neither a number of clusters nor a share from 1%% to 100%%", text)
	}
	if percent {
		n = (all*n + 99) / 100
	}
	return max(1, n), nil
}

// waveOf returns the wave of each of n clusters in order. A wave that adds no
// cluster to the previous ones has none.
func (p Plan) waveOf(n int) []int {
	waves := make([]int, n)
	next := 0
	for wave, text := range p.Waves {
		upTo := n
		if last := wave == len(p.Waves)-1; !last {
			upTo, _ = share(text, n)
		}
		for ; next < min(upTo, n); next++ {
			waves[next] = wave
		}
	}
	return waves
}

// room returns how many clusters of a wave may be in progress at once.
func (p Plan) room(wave int) int {
	if p.MaxUnavailable == "" {
		return wave
	}
	n, err := share(p.MaxUnavailable, wave)
	if err != nil {
		return wave
	}
	return n
}
