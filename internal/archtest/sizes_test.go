package archtest_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/archtest"
)

func TestSizes(t *testing.T) {
	root, err := archtest.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("debt.txt")
	if err != nil {
		t.Fatal(err)
	}
	debt, err := archtest.ParseDebt(string(text))
	if err != nil {
		t.Fatal(err)
	}
	over, err := archtest.Sizes(root)
	if err != nil {
		t.Fatal(err)
	}
	over, above := archtest.Gated(over)
	t.Logf("above a cap that is only reported:%s", above)
	if *update {
		if err := os.WriteFile("debt.txt", []byte(debt.Lower(string(text), over)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	report(t, debt.Check(over))
}

func TestDebtMayOnlyShrink(t *testing.T) {
	text := "# a comment\ntype hub/fleet.Fleet 100 why it is so\nfile hub/gone.go 600 one table\n"
	debt, err := archtest.ParseDebt(text)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		over []archtest.Size
		want string
	}{
		"grown":       {[]archtest.Size{{"type", "hub/fleet.Fleet", 101}}, "type hub/fleet.Fleet has 101 and may only shrink from 100"},
		"new":         {[]archtest.Size{{"function", "agent.Run", 61}}, "function agent.Run has 61, at most 60: split it, or put the new part elsewhere"},
		"shrunk":      {[]archtest.Size{{"type", "hub/fleet.Fleet", 90}}, "type hub/fleet.Fleet has shrunk to 90: lower its line in debt.txt from 100 (go test ./internal/archtest -run TestSizes -update)"},
		"within caps": {nil, "file hub/gone.go is within its cap: take its line out of debt.txt (go test ./internal/archtest -run TestSizes -update)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if bad := debt.Check(tc.over); !slices.Contains(bad, tc.want) {
				t.Errorf("got %q, want %q", bad, tc.want)
			}
		})
	}
	lowered := debt.Lower(text, []archtest.Size{{"type", "hub/fleet.Fleet", 90}, {"function", "agent.Run", 61}})
	if want := "# a comment\ntype hub/fleet.Fleet 90 why it is so\n"; lowered != want {
		t.Errorf("lowered to %q, want %q", lowered, want)
	}
	if raised := debt.Lower(text, []archtest.Size{{"type", "hub/fleet.Fleet", 120}}); !strings.Contains(raised, "Fleet 100 ") {
		t.Errorf("a line grew: %q", raised)
	}
}

func TestBadDebtNamesItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"type hub/fleet.Fleet":     "debt.txt:1: ",
		"\nroom hub/fleet 3 why":   "debt.txt:2: ",
		"type hub/fleet.F x why":   "debt.txt:1: ",
		"type hub/fleet.Fleet 100": "debt.txt:1: ",
	} {
		if _, err := archtest.ParseDebt(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want it to begin with %q", text, err, want)
		}
	}
}
