package terraform

import "testing"

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
