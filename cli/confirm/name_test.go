package confirm_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli/confirm"
	"github.com/axle-cd/axle/internal/errcode"
)

// The name goes on, from a script or typed; nothing else does, not even "y".
func TestOnlyTheNameGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		given, typed string
		terminal     bool
		goes, asks   bool
	}{
		"typed":               {typed: "fleet\n", terminal: true, goes: true, asks: true},
		"yes":                 {typed: "y\n", terminal: true, asks: true},
		"another name":        {typed: "fleets\n", terminal: true, asks: true},
		"the end":             {terminal: true, asks: true},
		"given":               {given: "fleet", terminal: true, goes: true},
		"another one given":   {given: "prod", typed: "fleet\n", terminal: true},
		"a script without it": {typed: "fleet\n"},
		"a script with it":    {given: "fleet", goes: true},
	} {
		var errs bytes.Buffer
		err := confirm.Name{Terminal: c.terminal, Given: c.given, In: strings.NewReader(c.typed), Err: &errs, Text: "Everything goes.", Name: "fleet", Command: "axle down --confirm fleet"}.Ask()
		if (err == nil) != c.goes || strings.Contains(errs.String(), "Everything goes.\nType fleet") != c.asks {
			t.Errorf("%s: %v, asked %q", name, err, errs.String())
		}
		if err != nil && (!errcode.Is(err, errcode.Invalid) || !strings.HasSuffix(err.Error(), ": axle down --confirm fleet")) {
			t.Errorf("%s: %v does not say how", name, err)
		}
	}
}
