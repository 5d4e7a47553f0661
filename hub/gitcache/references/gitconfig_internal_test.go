package references

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSettingsAreThoseOfGit compares with what git itself reads from the same bytes.
func TestSettingsAreThoseOfGit(t *testing.T) {
	for name, text := range map[string]string{
		"plain":         "[lfs]\n\turl = https://a.test/b\n",
		"on one line":   "[lfs] url = https://a.test/b\n[Remote \"Ori gin\"]lfsUrl=x\n",
		"comments":      "; a\n# b\n[lfs] # c\n\turl = https://a.test/b ; d\n\tpushurl = \"a;b#c\"\n",
		"continued":     "[lfs]\n\tfetchinclude = a,\\\nb,\\\nc\n\turl = x\n",
		"escapes":       "[a \"b\\\"c\\\\d\"]\n\tk = \"x\\ty\\nz\\\\\\\"\"\n",
		"without value": "[lfs]\n\tskipdownloaderrors\n",
		"of Windows":    "[lfs]\r\n\turl = https://a.test/b\r\n[submodule \"x\"]\r\n\tpath = y\r\n",
		"byte order":    "\ufeff[lfs]\n\turl = x\n",
		"dotted":        "[submodule.Name]\n\tpath = x\n",
		"a bracket":     "[submodule \"a]b\"]\n\tpath = x\n\turl = y\n",
		"equal signs":   "[lfs]\n\turl = https://a.test/b?x=y\n",
		"twice":         "[lfs]\n\turl = a\n\turl = b\n",
		"no value":      "[lfs]\n\turl =\n",
	} {
		c := exec.Command("git", "config", "--list", "--null", "--file", "-")
		c.Stdin, c.Env = strings.NewReader(text), []string{"HOME=/nonexistent", "PATH=/usr/bin:/bin:/usr/local/bin"}
		raw, err := c.Output()
		if err != nil {
			t.Errorf("%s: git: %v", name, err)
			continue
		}
		var want, got []string
		for line := range bytes.SplitSeq(bytes.TrimSuffix(raw, []byte{0}), []byte{0}) {
			key, value, valued := strings.Cut(string(line), "\n")
			if !valued {
				value = "true"
			}
			want = append(want, key+"="+value)
		}
		for _, s := range settings([]byte(text)) {
			key := s.section + "." + s.key
			if s.part != "" {
				key = s.section + "." + s.part + "." + s.key
			}
			got = append(got, key+"="+s.value)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-git +ours):\n%s", name, diff)
		}
	}
}
