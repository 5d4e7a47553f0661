package limits_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/testing/protocmp"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/limits"
)

func TestWindowsAsPeopleTypeThem(t *testing.T) {
	for text, want := range map[string]*hubv1.SyncWindow{
		"deny:0 22 * * *:8h":                        {Kind: "deny", Schedule: "0 22 * * *", Duration: "8h"},
		"allow:0 9 * * 1,3:1h30m:Europe/Berlin":     {Kind: "allow", Schedule: "0 9 * * 1,3", Duration: "1h30m", TimeZone: "Europe/Berlin"},
		"deny:@daily:24h:manual":                    {Kind: "deny", Schedule: "@daily", Duration: "24h", ManualSync: true},
		"deny:0 0 24 12 *:72h:Europe/Berlin:manual": {Kind: "deny", Schedule: "0 0 24 12 *", Duration: "72h", TimeZone: "Europe/Berlin", ManualSync: true},
		"deny": nil, "deny:* * * * *": nil, "deny:a:1h:UTC:manually": nil, "deny:a:1h:UTC:manual:manual": nil,
	} {
		got, err := limits.ParseWindows([]string{text})
		if want == nil {
			if err == nil {
				t.Errorf("%q is taken: %v", text, got)
			}
			continue
		}
		if diff := cmp.Diff([]*hubv1.SyncWindow{want}, got, protocmp.Transform()); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
		if back := limits.WindowText(want); back != text {
			t.Errorf("%q is shown as %q", text, back)
		}
	}
	if got, err := limits.ParseWindows([]string{""}); err != nil || got != nil {
		t.Errorf("an empty one lifts all: %v, %v", got, err)
	}
}

// A flag replaces the limit that it names and keeps the rest.
func TestLimitFlagsReplaceWhatTheyName(t *testing.T) {
	before := func() *hubv1.ProjectLimits {
		return &hubv1.ProjectLimits{Namespaces: []string{"a"}, Kinds: []string{"B"}, ServiceAccount: "c"}
	}
	for name, tc := range map[string]struct {
		args []string
		want *hubv1.ProjectLimits
	}{
		"nothing":      {nil, nil},
		"a list":       {[]string{"--allow-namespace", "x,y", "--allow-namespace", "z"}, &hubv1.ProjectLimits{Namespaces: []string{"x", "y", "z"}, Kinds: []string{"B"}, ServiceAccount: "c"}},
		"lifted":       {[]string{"--allow-kind", "", "--service-account="}, &hubv1.ProjectLimits{Namespaces: []string{"a"}}},
		"numbers":      {[]string{"--max-services", "3", "--max-clusters", "2", "--max-machines", "9", "--max-previews=0"}, &hubv1.ProjectLimits{Namespaces: []string{"a"}, Kinds: []string{"B"}, ServiceAccount: "c", Services: 3, Clusters: 2, Machines: 9}},
		"cluster wide": {[]string{"--cluster-scoped"}, &hubv1.ProjectLimits{Namespaces: []string{"a"}, Kinds: []string{"B"}, ServiceAccount: "c", ClusterScoped: true}},
	} {
		var flags limits.Flags
		c := &cobra.Command{}
		flags.Register(c)
		if err := c.ParseFlags(tc.args); err != nil {
			t.Fatal(err)
		}
		got, err := flags.Change(c, before())
		if diff := cmp.Diff(tc.want, got, protocmp.Transform()); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
