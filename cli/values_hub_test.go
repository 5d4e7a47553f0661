package cli_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli"
)

// TestValuesReachTheHubAsTheyWereGiven: a quoted value lost its quotes, a URL with a comma
// became two variables, and of a text with lines only the first one arrived.
func TestValuesReachTheHubAsTheyWereGiven(t *testing.T) {
	s := newShell(t)
	s.exits(1, "repos add fleet https://git.invalid/fleet.git", "is registered")
	s.exits(0, "clusters create edge-1 --tag tier=prod,region=eu")
	want := map[string]string{"greeting": `"hello"`, "url": "https://x/?a=1,b=2", "text": "one\ntwo\n", "json": `{"a": "b", "c": [1, 2]}`, "empty": ""}
	args := []string{"services", "create", "edge-1/web", "--repo", "fleet", "--ref", "main", "--folder", "web"}
	for key, value := range want {
		args = append(args, "--var", key+"="+value)
	}
	var out bytes.Buffer
	if code := cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}); code != 0 {
		t.Fatalf("exit %d: %s", code, out.String())
	}
	var got []struct{ Key, Value string }
	if err := json.Unmarshal([]byte(s.exits(0, "services config edge-1/web -o json")), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Errorf("%d values, want %d", len(got), len(want))
	}
	for _, v := range got {
		if value, ok := want[v.Key]; !ok || v.Value != value {
			t.Errorf("%s: %q, want %q", v.Key, v.Value, value)
		}
	}
	s.exits(0, "clusters get edge-1 -o jsonpath={.tags.region}", "eu")
	s.exits(2, "services update edge-1/web --var x", "it must be KEY=VALUE")
	s.exits(0, "services list --health Degraded,Missing")

	// A value of the claim may be a name of a directory.
	s.exits(0, "groups create eng")
	s.exits(0, "providers create ldap --issuer https://login.invalid --client-id x --groups-claim groups --group CN=Eng,OU=Groups,DC=example,DC=com=eng", "ldap")
	s.exits(0, "providers list -o json", "CN=Eng,OU=Groups,DC=example,DC=com")
	s.exits(2, "providers update ldap --group platform=eng,sre=eng", "repeat the flag")
}
