package inventory

import (
	"testing"

	"github.com/axle-cd/axle/agent/apply/wave"
)

func TestWhatRunsOnceIsNotDoneBeforeItRan(t *testing.T) {
	hook := func(moment wave.Moment, key uint64) HookRun { return HookRun{Runs: true, Moment: moment, Key: key} }
	for name, test := range map[string]struct {
		entry Entry
		want  bool
	}{
		"a job that is not created yet":     {Entry{Once: true}, true},
		"a job":                             {Entry{Once: true, UID: "u"}, false},
		"a deployment":                      {Entry{}, false},
		"a hook of this revision, not run":  {Entry{Once: true, UID: "of the one before", Hook: hook(0, 0)}, true},
		"a hook that ran":                   {Entry{Once: true, UID: "u", Hook: hook(0, 7)}, false},
		"a hook for failures":               {Entry{Once: true, Hook: hook(wave.MomentFail, 0)}, false},
		"a hook of a revision that is gone": {Entry{Once: true, Leaving: true, Hook: hook(0, 0)}, false},
	} {
		if got := Expects("s", test.entry).Unrun; got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
