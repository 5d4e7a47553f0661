package bearertoken_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/bearertoken"
)

const someBearer = "axle_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"

func TestBearerIsReadInOneWay(t *testing.T) {
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"as everybody sends it":    {[]string{"Bearer " + someBearer}, someBearer},
		"small letters":            {[]string{"bearer " + someBearer}, someBearer},
		"mixed case":               {[]string{"BeArEr " + someBearer}, someBearer},
		"several spaces":           {[]string{"Bearer   " + someBearer}, someBearer},
		"every sign of a token":    {[]string{"Bearer aZ09-._~+/=="}, "aZ09-._~+/=="},
		"as long as may be":        {[]string{"Bearer " + strings.Repeat("a", 1024)}, strings.Repeat("a", 1024)},
		"longer":                   {[]string{"Bearer " + strings.Repeat("a", 1025)}, ""},
		"none":                     {nil, ""},
		"an empty header":          {[]string{""}, ""},
		"twice":                    {[]string{"Bearer " + someBearer, "Bearer " + someBearer}, ""},
		"beside an empty one":      {[]string{"Bearer " + someBearer, ""}, ""},
		"beside another scheme":    {[]string{"Basic YTpi", "Bearer " + someBearer}, ""},
		"the scheme alone":         {[]string{"Bearer"}, ""},
		"the scheme and a space":   {[]string{"Bearer "}, ""},
		"no scheme":                {[]string{someBearer}, ""},
		"another scheme":           {[]string{"Basic " + someBearer}, ""},
		"a scheme that goes on":    {[]string{"BearerX " + someBearer}, ""},
		"a space first":            {[]string{" Bearer " + someBearer}, ""},
		"a tab between":            {[]string{"Bearer\t" + someBearer}, ""},
		"a tab after the space":    {[]string{"Bearer \t" + someBearer}, ""},
		"a space behind":           {[]string{"Bearer " + someBearer + " "}, ""},
		"two tokens":               {[]string{"Bearer " + someBearer + " " + someBearer}, ""},
		"two with a comma":         {[]string{"Bearer " + someBearer + ",Bearer " + someBearer}, ""},
		"a parameter":              {[]string{`Bearer token="` + someBearer + `"`}, ""},
		"a line's end":             {[]string{"Bearer " + someBearer + "\r\nX: y"}, ""},
		"NUL":                      {[]string{"Bearer axle_\x00"}, ""},
		"a letter that looks like": {[]string{"Bearer axle_é"}, ""},
		"a long s in the scheme":   {[]string{"Bearer\u017f " + someBearer}, ""},
	} {
		header := http.Header{}
		if test.lines != nil {
			header["Authorization"] = test.lines
		}
		if got := bearertoken.Of(header); got != test.want {
			t.Errorf("%s: read as %q, want %q", name, got, test.want)
		}
	}
	header := http.Header{"Authorization": {"bearer " + someBearer}}
	if n := testing.AllocsPerRun(100, func() { bearertoken.Of(header) }); n > 0 {
		t.Errorf("reading a token allocates %v times", n)
	}
}

// A bearer token is a part of its one line, and parses the same however often it is
// written again.
func FuzzBearer(f *testing.F) {
	for _, seed := range []string{"Bearer " + someBearer, "bearer  x", "Basic YTpi", "Bearer a b", "Bearer \x00", "Bearer", " Bearer x", "BEARER\tx", "bearer ,", "\u212aearer x"} {
		f.Add(seed, "")
		f.Add(seed, "Bearer y")
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		if bearertoken.Of(http.Header{"Authorization": {one, two}}) != "" {
			t.Error("two headers were read as one")
		}
		got := bearertoken.Of(http.Header{"Authorization": {one}})
		if got == "" {
			return
		}
		if len(one) < 7 || !strings.EqualFold(one[:7], "bearer ") || strings.TrimLeft(one[7:], " ") != got {
			t.Errorf("%q was read as %q", one, got)
		}
		if len(got) > 1024 || strings.ContainsFunc(got, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ',' || r == '"' || r == ';' }) {
			t.Errorf("%q is no token", got)
		}
		if again := bearertoken.Of(http.Header{"Authorization": {"bEARER " + got}}); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	})
}
