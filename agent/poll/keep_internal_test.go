package poll

import (
	"testing"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/position"
)

func entry(digest, spec string) *agentv1.DesiredService {
	return &agentv1.DesiredService{Id: "s", Name: "web", TarballDigest: digest, SpecDigest: spec}
}

func waiting(digest, spec string) *agentv1.DesiredService {
	return &agentv1.DesiredService{Id: "s", Name: "web", SpecDigest: spec, Waiting: &agentv1.Waiting{Message: "why", TarballDigest: digest}}
}

// TestWaitingServiceKeepsWhatItsClusterHas: whatever a list offers, a service
// that waits gets nothing that it does not have.
func TestWaitingServiceKeepsWhatItsClusterHas(t *testing.T) {
	t.Parallel()
	has := inventoried{TarballDigest: "new", SpecDigest: "s1"}
	for name, test := range map[string]struct {
		had, offered, want *agentv1.DesiredService
		applied            inventoried
		spec               string
		waits              bool
	}{
		"waits for nothing":                 {had: entry("new", "s1"), offered: entry("old", "s1"), want: entry("old", "s1")},
		"is what it was":                    {had: entry("new", "s1"), offered: waiting("new", "s1"), want: entry("new", "s1")},
		"other content":                     {had: entry("new", "s1"), offered: waiting("old", "s1"), want: entry("new", "s1"), waits: true},
		"other settings":                    {had: entry("new", "s2"), offered: waiting("new", "s1"), want: entry("new", "s2"), waits: true},
		"nothing is there":                  {offered: waiting("old", "s1"), want: waiting("old", "s1"), waits: true},
		"still nothing is there":            {had: waiting("old", "s1"), offered: waiting("old", "s1"), want: waiting("old", "s1"), waits: true},
		"after a restart, as it was":        {offered: waiting("new", "s1"), applied: has, spec: "s1", want: entry("new", "s1")},
		"after a restart, other content":    {offered: waiting("old", "s1"), applied: has, spec: "s1", want: entry("new", "s1"), waits: true},
		"after a restart, unknown settings": {offered: waiting("new", "s1"), applied: has, spec: "s0", want: waiting("new", "s1"), waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, why := chosen(test.had, test.offered, test.applied, test.spec)
			if !proto.Equal(want, test.want) || (why != "") != test.waits {
				t.Errorf("got %v and %q, wanted %v", want, why, test.want)
			}
		})
	}
}

// TestInventoryWinsOverAnOlderDisk: a list from the disk counts unless the
// inventory is of a later one.
func TestInventoryWinsOverAnOlderDisk(t *testing.T) {
	t.Parallel()
	disk := position.Position{Incarnation: "0a-00", Sequence: 5}
	for name, test := range map[string]struct {
		applied inventoried
		older   bool
	}{
		"no inventory":             {},
		"of the same list":         {applied: inventoried{TarballDigest: "x", Seen: "0a-00.5"}},
		"of an earlier list":       {applied: inventoried{TarballDigest: "x", Seen: "0a-00.4"}},
		"of a later list":          {applied: inventoried{TarballDigest: "x", Seen: "0a-00.6"}, older: true},
		"of a later life":          {applied: inventoried{TarballDigest: "x", Seen: "0b-00.1"}, older: true},
		"of no list, other files":  {applied: inventoried{TarballDigest: "x"}, older: true},
		"of no list, the same":     {applied: inventoried{TarballDigest: "old"}},
		"of something unreadable":  {applied: inventoried{TarballDigest: "old", Seen: "?"}},
		"of a later list, no news": {applied: inventoried{TarballDigest: "old", Seen: "0a-00.6"}, older: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, why := older(disk, entry("old", "s1"), test.applied)
			if (why != "") != test.older || (want.GetTarballDigest() == "") != test.older {
				t.Errorf("got %v and %q", want, why)
			}
		})
	}
}
