package gitobject_test

import (
	"io"
	"testing"

	"github.com/axle-cd/axle/internal/gitobject"
)

// What git hash-object says of "hello\n", in both formats.
func TestIDsAreGits(t *testing.T) {
	for format, id := range map[string]string{
		"sha1":   "ce013625030ba8dba906f756967f9e9ca394464a",
		"":       "ce013625030ba8dba906f756967f9e9ca394464a",
		"sha256": "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4",
	} {
		h := gitobject.New(format, "blob", 6)
		if _, err := io.WriteString(h, "hello\n"); err != nil {
			t.Fatal(err)
		}
		if err := gitobject.Compare(id, h); err != nil {
			t.Errorf("%q: %v", format, err)
		}
		if err := gitobject.Compare(id[1:]+"0", h); err == nil {
			t.Errorf("%q: another id passes", format)
		}
	}
}
