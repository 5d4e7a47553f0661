package bin_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/bin"
)

const hello = "./test/bin/testdata/hello"

func TestOptionsMakeDifferentPrograms(t *testing.T) {
	for name, test := range map[string]struct {
		options bin.Options
		want    string
	}{
		"by its version": {bin.Options{Package: hello, Version: "v1.2.3"}, "hello v1.2.3"},
		"by its tags":    {bin.Options{Package: hello, Version: "v1.2.3", Tags: []string{"loud"}}, "HELLO v1.2.3"},
		"by both":        {bin.Options{Package: hello, Version: "v4", Tags: []string{"loud"}}, "HELLO v4"},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := bin.Path(t.Context(), "hello", test.options)
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), path).Output()
			if got := strings.TrimSpace(string(out)); err != nil || got != test.want {
				t.Errorf("it says %q (%v), want %q", got, err, test.want)
			}
		})
	}
}

func TestSecondCallBuildsNothing(t *testing.T) {
	options := bin.Options{Package: hello}
	first, err := bin.Path(t.Context(), "hello", options)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "") // where go is not to be found
	second, err := bin.Path(t.Context(), "hello", options)
	if err != nil || second != first {
		t.Errorf("the second call gives %q, %v; want %q", second, err, first)
	}
	if _, err := os.Stat(second); err != nil {
		t.Error(err)
	}
}

func TestCompilerIsQuoted(t *testing.T) {
	_, err := bin.Path(t.Context(), "no-such-program", bin.Options{})
	if err == nil || !strings.Contains(err.Error(), "no-such-program") || !strings.Contains(err.Error(), "directory not found") {
		t.Errorf("the error is %v", err)
	}
}
