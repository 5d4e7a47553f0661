package terraform

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestHashesOfTwoForms: a plan differs when a secret does, not when the hub's hash has another
// form than the state's.
func TestHashesOfTwoForms(t *testing.T) {
	const old, other, longer = `"a":"01234567"`, `"a":"89abcdef"`, `"a":"0123456789abcdef"`
	for name, tt := range map[string]struct {
		before, now string
		same, known bool
	}{
		"equal":                      {"{" + old + "}", "{" + old + "}", true, true},
		"changed":                    {"{" + old + "}", "{" + other + "}", false, true},
		"another form":               {"{" + old + "}", "{" + longer + "}", false, false},
		"the form of before":         {"{" + longer + "}", "{" + old + "}", false, false},
		"a key more":                 {"{" + old + "}", "{" + longer + `,"b":"0123456789abcdef"}`, false, true},
		"a key less":                 {"{" + old + `,"b":"01234567"}`, "{" + old + "}", false, true},
		"another key":                {"{" + old + "}", `{"b":"01234567"}`, false, true},
		"one of two in another form": {"{" + old + `,"b":"01234567"}`, "{" + longer + `,"b":"89abcdef"}`, false, true},
		"a context's version":        {`"3"`, `"4"`, false, true},
	} {
		if same, known := sameSecrets(tt.before, tt.now); same != tt.same || known != tt.known {
			t.Errorf("%s: same %v, known %v", name, same, known)
		}
	}
}

// Runs at once that exchange one token keep one of the answers whole.
func TestTokensKeptAtOnceAreWhole(t *testing.T) {
	k := keptFile(filepath.Join(t.TempDir(), "axle", "terraform-a.json"))
	long := exchanged{strings.Repeat("a", 1<<20), time.Now().Add(time.Hour)}
	if err := k.write(long); err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	for _, of := range []string{"a", "b"} {
		both.Go(func() {
			for range 20 {
				if err := k.write(exchanged{strings.Repeat(of, 1<<20), long.Expires}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { both.Wait(); close(ended) }()
	for reading := true; reading; {
		select {
		case <-ended:
			reading = false
		default:
		}
		e, ok := k.read()
		if a, b := strings.Count(e.Token, "a"), strings.Count(e.Token, "b"); !ok || a+b != 1<<20 || a*b != 0 {
			t.Fatalf("%v, %d and %d", ok, a, b)
		}
	}
}
