package export

import "testing"

// No name of an object leaves its folder or hides a file, and two names never share one.
func TestEveryNameIsOneFile(t *testing.T) {
	for name, want := range map[string]string{"web": "web", "a.b": "a.b", ".hidden": "%2Ehidden", "..": "%2E.", "a/b": "a%2Fb", "a%2Fb": "a%252Fb", "ä": "%C3%A4"} {
		if got := fileName(name); got != want {
			t.Errorf("%q is in %q, want %q", name, got, want)
		}
	}
}
