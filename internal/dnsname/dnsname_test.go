package dnsname_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/dnsname"
)

func TestValid(t *testing.T) {
	for _, name := range []string{"a", "0", "a-b.c", "helmrepository.apps.podinfo", strings.Repeat("a", 253)} {
		if !dnsname.Valid(name) {
			t.Errorf("%q is refused", name)
		}
	}
	for _, name := range []string{"", " a", "a ", "A", "a_b", "-a", "a-", ".a", "a.", "../x", "a/b", "<script>", "a\nb", "a\n", "a\u202eb", "é", strings.Repeat("a", 254)} {
		if dnsname.Valid(name) {
			t.Errorf("%q is a name", name)
		}
	}
}
