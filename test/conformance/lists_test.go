package conformance_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/conformance"
)

func TestListsNameEachTestOnce(t *testing.T) {
	lists, err := conformance.ReadLists("../..")
	if err != nil {
		t.Fatal(err)
	}
	passes, skips := conformance.Names(lists.Passes), conformance.Names(lists.Skips)
	if len(passes) < 100 {
		t.Errorf("%d tests pass, want at least 100", len(passes))
	}
	if err := lists.Check(append(passes, skips...)); err != nil {
		t.Error(err)
	}
	for _, s := range lists.Skips {
		if len(strings.Fields(s.Heading)) < 3 || len(s.Tests) == 0 {
			t.Errorf("%q is no reason for %d tests", s.Heading, len(s.Tests))
		}
	}
}

func TestListsThatDoNotFitAreTold(t *testing.T) {
	lists := conformance.Lists{
		Passes: []conformance.Section{{Heading: conformance.HeadingKwok, Tests: []string{"a", "b"}}},
		Skips:  []conformance.Section{{Heading: "why", Tests: []string{"b", "c"}}},
	}
	for name, test := range map[string]struct {
		suite []string
		want  string
	}{
		"one is missing":     {[]string{"a", "b", "c", "d"}, "in no list: d"},
		"one is in both":     {[]string{"a", "b", "c"}, "listed twice: b"},
		"one does not exist": {[]string{"a", "b"}, "not in the suite: c"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := lists.Check(test.suite); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
