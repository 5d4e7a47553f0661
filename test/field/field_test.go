package field_test

import (
	"flag"
	"testing"

	"github.com/axle-cd/axle/hub/hubtest"
)

// TestMain lets all cases run at the same time: they wait most of it.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "64"); err != nil {
		panic(err)
	}
	hubtest.Main(m)
}

// TestField plays every case.
func TestField(t *testing.T) {
	all := stories(t)
	b := newBed(t)
	t.Run("cases", func(t *testing.T) {
		for _, s := range all {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				if s.Service == nil {
					s.Service = map[string]any{}
				}
				p := &play{bed: b, T: t, story: s}
				for _, step := range s.Steps {
					p.run(step)
				}
			})
		}
	})
}
