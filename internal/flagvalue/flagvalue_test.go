package flagvalue_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/axle-cd/axle/internal/flagvalue"
)

// TestValuesStayAsTheyAre: pflag's own flags dropped quotes, made two variables of one URL,
// and kept the first line of a text.
func TestValuesStayAsTheyAre(t *testing.T) {
	for text, value := range map[string]string{
		`greeting="hello"`: `"hello"`, `greeting=say "hello"`: `say "hello"`, `greeting=`: ``, `greeting= x `: ` x `,
		`greeting=https://x/?a=1,b=2`: `https://x/?a=1,b=2`, "greeting=one\ntwo\n": "one\ntwo\n", `greeting={"a": "b", "c": [1,2]}`: `{"a": "b", "c": [1,2]}`,
		`greeting="a=b"`: `"a=b"`, `greeting=a\,b`: `a\,b`, `greeting==`: `=`, "greeting=a,\"b": "a,\"b",
	} {
		f := pflag.NewFlagSet("x", pflag.ContinueOnError)
		var got map[string]string
		flagvalue.Pairs(f, &got, "var", "")
		if err := f.Parse([]string{"--var", "other=1", "--var", text}); err != nil {
			t.Errorf("%q: %v", text, err)
		} else if want := map[string]string{"other": "1", "greeting": value}; !maps.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"", "x", "=x"} {
		f := pflag.NewFlagSet("x", pflag.ContinueOnError)
		var got map[string]string
		flagvalue.Pairs(f, &got, "var", "")
		if err := f.Parse([]string{"--var", text}); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestLabelsMayHaveCommasBetween(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"tier=prod,region=eu": {"tier": "prod", "region": "eu"}, "tier=": {"tier": ""}, "team=a,b": {"team": "a,b"}, `x="a"`: {"x": `"a"`}, "a=b=c,d=e": {"a": "b=c", "d": "e"},
	} {
		f := pflag.NewFlagSet("x", pflag.ContinueOnError)
		got := map[string]string{"standard": "1"}
		flagvalue.Labels(f, &got, "tag", "")
		if err := f.Parse([]string{"--tag", text}); err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: %q, want %q, %v", text, got, want, err)
		}
	}
}

func TestDistinguishedNamesAreMapped(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"platform=team":                          {"platform": "team"},
		"CN=Eng,OU=Groups,DC=example,DC=com=eng": {"CN=Eng,OU=Groups,DC=example,DC=com": "eng"},
		`CN=Eng\, EU,OU=Groups=eng`:              {`CN=Eng\, EU,OU=Groups`: "eng"},
		"Team A, Europe=a":                       {"Team A, Europe": "a"},
		"x=":                                     {"x": ""},
		"platform=team,sre=team":                 nil,
		"x":                                      nil,
		"=x":                                     nil,
	} {
		f := pflag.NewFlagSet("x", pflag.ContinueOnError)
		var got map[string]string
		flagvalue.Mapped(f, &got, "group", "")
		if err := f.Parse([]string{"--group", text}); (err == nil) != (want != nil) || !maps.Equal(got, want) {
			t.Errorf("%q: %q, want %q, %v", text, got, want, err)
		}
	}
}

func TestListsSplitAtCommas(t *testing.T) {
	for text, want := range map[string][]string{
		"": {}, "a": {"a"}, "a,b": {"a", "b"}, `"a"`: {`"a"`}, "a\nb": {"a\nb"}, `a\,b,c`: {"a,b", "c"}, `a,`: {"a", ""}, `C:\dir,d`: {`C:\dir`, "d"}, `a"b`: {`a"b`},
	} {
		f := pflag.NewFlagSet("x", pflag.ContinueOnError)
		var got []string
		flagvalue.List(f, &got, "names", "", "standard")
		if fmt.Sprint(got) != "[standard]" || f.Lookup("names").DefValue != "[standard]" {
			t.Errorf("before it is given: %q", got)
		}
		if err := f.Parse([]string{"--names", text}); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q, %v", text, got, want, err)
		}
		if err := f.Parse([]string{"--names", "z"}); err != nil || !slices.Equal(got, append(want, "z")) {
			t.Errorf("%q and again: %q, %v", text, got, err)
		}
	}
}

// A path that is there is one, whatever it has; another text is a list, as before.
func TestPathsMayHaveCommas(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a,b.yaml", `c\,d`, "e.yaml"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string][]string{
		"a,b.yaml": {"a,b.yaml"}, `c\,d`: {`c\,d`}, "e.yaml,f.yaml": {"e.yaml", "f.yaml"}, `e.yaml,a\,b.yaml`: {"e.yaml", "a,b.yaml"}, "-": {"-"}, "./a,b.yaml": {"./a,b.yaml"},
	} {
		f := pflag.NewFlagSet("x", pflag.ContinueOnError)
		var got []string
		flagvalue.PathsP(f, &got, "filename", "f", "")
		if err := f.Parse([]string{"-f", text}); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q, %v", text, got, want, err)
		}
		if err := f.Parse([]string{"-f", "e.yaml"}); err != nil || !slices.Equal(got, append(want, "e.yaml")) {
			t.Errorf("%q and again: %q, %v", text, got, err)
		}
	}
}
